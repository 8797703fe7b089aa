"""Results of calls as clients read them."""

import base64
from typing import Any, Final
from urllib.parse import quote

import mcp_types
from nanocoder import Attachment, ToolResult

TEXTS: Final = ("text/", "application/json")


def result_of(result: ToolResult) -> mcp_types.CallToolResult:
    """Return a result as clients read it: the text that a model reads here, and attachments.

    The data is not sent as structured content: clients show a model that instead of the text,
    without the marks and limits of the text.
    """
    content: list[Any] = [mcp_types.TextContent(type="text", text=result.output)]
    content += [content_of(each, number) for number, each in enumerate(result.attachments, 1)]
    return mcp_types.CallToolResult(content=content, is_error=result.is_error)


def contents_of(result: ToolResult, uri: str, media_type: str) -> list[Any]:
    """Return the contents of a resource: the first attachment of *result*, else its text."""
    if result.attachments:
        attachment = result.attachments[0]
        return [_resource(attachment, uri, base64.b64encode(attachment.data).decode())]
    text = result.output
    return [mcp_types.TextResourceContents(uri=uri, mime_type=media_type, text=text)]


def messages_of(result: ToolResult) -> list[mcp_types.PromptMessage]:
    """Return a prompt as user messages: its text, and each of its attachments."""
    files = [content_of(each, number) for number, each in enumerate(result.attachments, 1)]
    content = [*files, mcp_types.TextContent(type="text", text=result.output)]
    return [mcp_types.PromptMessage(role="user", content=each) for each in content]


def content_of(attachment: Attachment, number: int) -> Any:
    """Return an image or a sound as such, and any other file as a resource in the result."""
    media_type = attachment.media_type
    encoded = base64.b64encode(attachment.data).decode()
    if media_type.startswith("image/"):
        return mcp_types.ImageContent(type="image", data=encoded, mime_type=media_type)
    if media_type.startswith("audio/"):
        return mcp_types.AudioContent(type="audio", data=encoded, mime_type=media_type)
    address = f"attachment:///{quote(attachment.name or str(number))}"
    return mcp_types.EmbeddedResource(
        type="resource", resource=_resource(attachment, address, encoded)
    )


def _resource(attachment: Attachment, address: str, encoded: str) -> Any:
    try:
        if attachment.media_type.startswith(TEXTS):
            text = attachment.data.decode()
            return mcp_types.TextResourceContents(
                uri=address, mime_type=attachment.media_type, text=text
            )
    except UnicodeDecodeError:
        pass  # sent as bytes
    return mcp_types.BlobResourceContents(
        uri=address, mime_type=attachment.media_type, blob=encoded
    )
