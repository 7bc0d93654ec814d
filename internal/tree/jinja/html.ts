const names: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};

/** A text as text of HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => names[character] ?? character);
}
