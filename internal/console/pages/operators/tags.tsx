/** Short words side by side. */
export function Tags({ words }: { words: readonly string[] }) {
  if (words.length === 0) return <span class="muted">none</span>;
  return (
    <span class="row-tags">
      {words.map((word) => (
        <span key={word} class="tag">
          {word}
        </span>
      ))}
    </span>
  );
}
