/** Why something could not be read or done; nothing when it could. */
export function Problem({ problem }: { problem: Error | undefined }) {
  if (problem === undefined) return null;
  return (
    <p class="notice failed" role="alert">
      {problem.message}
    </p>
  );
}
