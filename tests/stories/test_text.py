"""Two panes: a text is translated as it is written, and words light up with those that they came from."""

from __future__ import annotations

from playwright.sync_api import expect

from stories.desk import Desk, linked_words

SAVED = "The file could not be saved because the disk is full."


def test_what_is_written_is_translated(desk: Desk) -> None:
    desk.source.press_sequentially("Open the file. Close it.", delay=20)
    answers = [desk.translate(sentence)["text"] for sentence in ("Open the file.", "Close it.")]
    expect(desk.translation).to_have_text(" ".join(answers))


def test_a_word_lights_up_its_partners_on_the_other_side(desk: Desk) -> None:
    desk.write(SAVED)
    target, sources, source, targets = linked_words(desk.translate(SAVED))
    desk.target_word(target).hover()
    expect(desk.lit).to_have_text(sources)
    place = desk.source_word(source).bounding_box()
    assert place is not None
    desk.page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    expect(desk.lit).to_have_text(targets)
    desk.page.mouse.move(2, 2)
    expect(desk.lit).to_have_count(0)


def test_the_caret_lights_up_partners_too(desk: Desk) -> None:
    desk.write(SAVED)
    answer = desk.translate(SAVED)
    _, _, source, targets = linked_words(answer)
    desk.source.focus()
    desk.source.press("Control+Home")
    for _ in range(answer["source_words"][source]["start"] + 1):
        desk.source.press("ArrowRight")
    expect(desk.lit).to_have_text(targets)


def test_unlinked_and_unsure_words_are_marked(desk: Desk) -> None:
    desk.write(SAVED)
    answer = desk.translate(SAVED)
    unlinked = [answer["source_words"][n]["text"] for n in answer["unlinked_source"]]
    expect(desk.page.locator("#text-s-0 .w.u")).to_have_text([word for word in unlinked if word.isalnum()])
    sure = [max([0, *[x["confidence"] for x in answer["links"] if x["target"] == n]]) for n in range(50)]
    unsure = [word["text"] for n, word in enumerate(answer["target_words"]) if 0 < sure[n] < 0.5]
    expect(desk.page.locator("#text-t-0").locator(".w.c0, .w.c1, .w.c2")).to_have_text(unsure)


def test_characters_of_two_halves_do_not_shift_words(desk: Desk) -> None:
    text = "😀😀 Open the file 😀."
    desk.write(text)
    words = [word["text"] for word in desk.translate(text)["source_words"] if word["start"] is not None]
    expect(desk.page.locator("#text-s-0 .w")).to_have_text(words)


def test_both_sides_are_copied(desk: Desk) -> None:
    desk.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    desk.write(SAVED)
    for side, text in (("Source", SAVED), ("Translation", desk.translate(SAVED)["text"])):
        desk.page.get_by_role("region", name=side).get_by_role("button", name="Copy").click()
        expect(desk.page.get_by_text("Copied", exact=True)).to_be_visible()
        expect(desk.page.get_by_text("Copied", exact=True)).to_be_hidden()  # so that the next one is told by itself
        assert desk.page.evaluate("navigator.clipboard.readText()") == text
