"""Images and PDF, read by the libraries of the extras."""

import io
import threading

import pytest
from nanocoder import Cancel, Cancelled, SessionInfo, ToolContext, ToolError, Workspace
from nanocoder_tool_read import Settings, media_process, read_file
from PIL import Image

ORIENTATION = 0x0112


@pytest.fixture
def ctx(tmp_path):
    with Workspace(tmp_path) as workspace:
        yield ToolContext(
            session_id="s", message_id="c1", workspace=workspace, working_directory=tmp_path
        )


def read(ctx, path, **arguments):
    return read_file.invoke(ctx, read_file.signature.check({"path": path, **arguments}))


def error_of(ctx, path, **arguments):
    with pytest.raises(ToolError) as caught:
        read(ctx, path, **arguments)
    return caught.value


def opened(attachment):
    return Image.open(io.BytesIO(attachment.data))


def pdf_of(*texts, size=(300, 200), trailer=""):
    """Write a PDF with a page for each text; an empty text is an empty page."""
    kids = " ".join(f"{3 + 2 * n} 0 R" for n in range(len(texts)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(texts)} >>",
    ]
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    for number, text in enumerate(texts):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {size[0]} {size[1]}]"
            f" /Contents {4 + 2 * number} 0 R /Resources << /Font << /F {font} >> >> >>"
        )
        lines = [f"1 0 0 1 20 {150 - 20 * n} Tm ({line}) Tj" for n, line in enumerate(text)]
        stream = "BT /F 12 Tf " + " ".join(lines) + " ET" if text else "0 0 50 50 re f"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    start = len(out)
    count = len(objects) + 1
    return (
        out
        + (
            f"xref\n0 {count}\n0000000000 65535 f \n{table}"
            f"trailer\n<< /Size {count} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n"
        ).encode()
    )


@pytest.mark.contract("MA-14")
def test_a_small_image_is_attached_as_it_is(ctx, tmp_path):
    Image.new("RGB", (20, 10), "red").save(tmp_path / "a.png")
    result = read(ctx, "a.png")
    (attachment,) = result.attachments
    assert attachment.data == (tmp_path / "a.png").read_bytes()
    assert (attachment.media_type, attachment.name) == ("image/png", "a.png")
    assert result.output.startswith("[image/png, 20 x 10 pixels, ")


@pytest.mark.contract("MA-14")
@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_large_image_is_made_small_enough_for_a_model(ctx, tmp_path, form):
    Image.new("RGB", (3_136, 500), "red").save(tmp_path / "a", form)
    result = read(ctx, "a")
    (attachment,) = result.attachments
    assert opened(attachment).size == (1_568, 250)
    assert opened(attachment).getpixel((9, 9))[0] > 250
    assert attachment.media_type == ("image/jpeg" if form == "JPEG" else "image/png")
    assert "1568 x 250 pixels" in result.output
    assert "the file has 3136 x 500" in result.output


def test_an_image_of_many_bytes_becomes_coarser(ctx, tmp_path, monkeypatch):
    monkeypatch.setattr(media_process, "MAX_IMAGE_BYTES", 40_000)
    Image.effect_noise((600, 400), 90).save(tmp_path / "noise.png")
    (attachment,) = read(ctx, "noise.png").attachments
    assert attachment.media_type == "image/jpeg"
    assert len(attachment.data) <= 40_000


def test_an_image_is_turned_as_its_camera_was_held(ctx, tmp_path):
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    Image.new("RGB", (40, 20)).save(tmp_path / "a.jpg", exif=exif)
    (attachment,) = read(ctx, "a.jpg").attachments
    assert opened(attachment).size == (20, 40)


def test_of_an_animated_image_the_first_frame_is_shown(ctx, tmp_path):
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue", "green")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    result = read(ctx, "a.gif")
    assert "it is animated, this is the first frame" in result.output
    assert opened(result.attachments[0]).convert("RGB").getpixel((5, 5)) == (255, 0, 0)


def test_an_image_that_would_fill_the_memory_is_not_unpacked(ctx, tmp_path):
    Image.new("1", (20_000, 20_000)).save(tmp_path / "bomb.png")
    assert (tmp_path / "bomb.png").stat().st_size < 100_000
    error = error_of(ctx, "bomb.png")
    assert error.error_class == "too_large"
    assert "20,000 x 20,000 pixels; at most 50,000,000" in str(error)


@pytest.mark.parametrize("keep", [9, 60, 5_000])
def test_a_broken_image_is_an_error_of_its_own(ctx, tmp_path, keep):
    Image.effect_noise((300, 200), 90).save(tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").write_bytes(data[:keep])
    error = error_of(ctx, "a.png")
    assert error.error_class == "broken_file"
    assert "object at" not in str(error)


def test_media_over_their_own_cap_are_refused(ctx, tmp_path):
    ctx.settings = Settings(max_media_bytes=50)
    Image.new("RGB", (20, 10), "red").save(tmp_path / "a.png")
    assert error_of(ctx, "a.png").error_class == "too_large"


@pytest.mark.contract("MA-14")
def test_a_pdf_is_read_by_page(ctx, tmp_path):
    pages = [[f"Page {n}", "second line"] for n in range(1, 6)]
    (tmp_path / "a.pdf").write_bytes(pdf_of(*pages))
    result = read(ctx, "a.pdf", offset=2, limit=2)
    assert result.output == (
        "[page 2]\nPage 2\nsecond line\n[page 3]\nPage 3\nsecond line\n"
        "[pages 2-3 of 5; continue with offset 4]"
    )
    assert result.attachments == ()
    assert {**result.metadata, "size": 0} == {
        "path": "a.pdf",
        "size": 0,
        "media_type": "application/pdf",
        "pages": 5,
        "first": 2,
        "last": 3,
        "truncated": True,
    }
    assert read(ctx, "a.pdf").output.endswith("[pages 1-5 of 5]")
    error = error_of(ctx, "a.pdf", offset=6)
    assert str(error) == "offset 6 is past the end: 'a.pdf' has 5 pages"


@pytest.mark.contract("MA-14")
def test_pages_without_text_are_shown_as_images(ctx, tmp_path):
    (tmp_path / "a.pdf").write_bytes(pdf_of(["words"], [], [], size=(20_000, 10_000)))
    result = read(ctx, "a.pdf")
    assert "[page 2: no text; attached as an image]" in result.output
    assert [item.name for item in result.attachments] == ["a.pdf, page 2", "a.pdf, page 3"]
    assert opened(result.attachments[0]).size == (1_568, 784)


def test_only_so_many_pages_and_images_come_at_once(ctx, tmp_path, monkeypatch):
    monkeypatch.setattr(media_process, "MAX_PAGES", 3)
    monkeypatch.setattr(media_process, "MAX_PICTURES", 1)
    (tmp_path / "a.pdf").write_bytes(pdf_of([], [], ["words"], []))
    result = read(ctx, "a.pdf")
    assert len(result.attachments) == 1
    assert "[page 2: no text; only 1 pages are shown as images in one call]" in result.output
    assert result.output.endswith("[pages 1-3 of 4; continue with offset 4]")


def test_a_long_page_is_cut(ctx, tmp_path, monkeypatch):
    monkeypatch.setattr(media_process, "MAX_CHARACTERS", 5)
    (tmp_path / "a.pdf").write_bytes(pdf_of(["0123456789"]))
    assert "[page 1]\n01234\n[5 characters left out]" in read(ctx, "a.pdf").output


def test_a_small_model_gets_no_images_of_pages(ctx, tmp_path):
    ctx.session = SessionInfo("s", tmp_path, profile="small")
    (tmp_path / "a.pdf").write_bytes(pdf_of([]))
    result = read(ctx, "a.pdf")
    assert result.attachments == ()
    assert "[page 1: no text; this model takes no images]" in result.output


def test_without_pillow_the_pages_that_are_images_are_named(ctx, tmp_path, monkeypatch):
    monkeypatch.setattr(media_process, "has", lambda module: module != "PIL")
    (tmp_path / "a.pdf").write_bytes(pdf_of([]))
    output = read(ctx, "a.pdf").output
    assert "[page 1: no text; to see it install nanocoder-tool-read[images]]" in output


@pytest.mark.parametrize(
    ("data", "error_class"),
    [
        (b"%PDF-1.7\nnothing", "broken_file"),
        (pdf_of(["a"])[:120], "broken_file"),
        (
            pdf_of(
                ["a"],
                trailer=f"/ID [<00> <00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4"
                f" /O <{'00' * 32}> /U <{'11' * 32}> >>",
            ),
            "encrypted",
        ),
    ],
)
def test_a_pdf_that_cannot_be_read_is_an_error_of_its_own(ctx, tmp_path, data, error_class):
    (tmp_path / "a.pdf").write_bytes(data)
    assert error_of(ctx, "a.pdf").error_class == error_class


def test_a_viewer_that_takes_too_long_is_ended(ctx, tmp_path, monkeypatch):
    slow = tmp_path / "slow.py"
    slow.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(media_process, "VIEWER", slow)
    monkeypatch.setattr(media_process, "WAIT_S", 0.2)
    (tmp_path / "a.pdf").write_bytes(pdf_of(["a"]))
    assert error_of(ctx, "a.pdf").error_class == "timeout"


def test_an_interruption_ends_the_viewer(ctx, tmp_path, monkeypatch):
    slow = tmp_path / "slow.py"
    slow.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(media_process, "VIEWER", slow)
    (tmp_path / "a.pdf").write_bytes(pdf_of(["a"]))
    ctx.cancelled = Cancel()
    threading.Timer(0.2, ctx.cancelled.set).start()
    with pytest.raises(Cancelled):
        read(ctx, "a.pdf")


def test_a_viewer_that_crashes_is_an_error_of_the_file(ctx, tmp_path, monkeypatch):
    crash = tmp_path / "crash.py"
    crash.write_text("import os\nos.abort()\n")
    monkeypatch.setattr(media_process, "VIEWER", crash)
    (tmp_path / "a.pdf").write_bytes(pdf_of(["a"]))
    assert error_of(ctx, "a.pdf").error_class == "broken_file"


def test_what_the_viewer_may_take_is_limited(ctx, tmp_path, monkeypatch):
    greedy = tmp_path / "greedy.py"
    code = media_process.VIEWER.read_text()
    greedy.write_text(code.replace("def pdf(", "def pdf(*_):\n    bytes(10**10)\n\n\ndef other("))
    monkeypatch.setattr(media_process, "VIEWER", greedy)
    (tmp_path / "a.pdf").write_bytes(pdf_of(["a"]))
    error = error_of(ctx, "a.pdf")
    assert (error.error_class, "too much memory" in str(error)) == ("too_large", True)
