/**
 * Gives what is cut off for want of room its whole text as a title, when the pointer comes to it. Only then: whether
 * something is cut off is known only once it is laid out.
 *
 * @returns what ends it
 */
export function showFullTexts(target: Document): () => void {
  const onOver = ({ target: over }: Event) => {
    // In a cell, a link is cut off by itself.
    const cell = over instanceof HTMLElement ? over.closest<HTMLElement>("td > a, td, .cut") : null;
    if (cell === null) return;
    const own = cell.dataset.reported !== undefined;
    if (cell.title !== "" && !own) return;
    const isCut = cell.scrollWidth > cell.clientWidth;
    if (isCut) {
      cell.dataset.reported = "";
      cell.title = cell.textContent;
    } else if (own) {
      // A row of a table shows another one when it is scrolled.
      cell.removeAttribute("title");
      delete cell.dataset.reported;
    }
  };
  target.addEventListener("mouseover", onOver);
  return () => target.removeEventListener("mouseover", onOver);
}
