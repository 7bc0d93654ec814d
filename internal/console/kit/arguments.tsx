/** The arguments of a function, as entries of a list of facts. */
export function Arguments({ args }: { args: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(args);
  if (entries.length === 0) return null;
  return (
    <>
      <dt>Arguments</dt>
      <dd>
        {entries.map(([name, value]) => (
          <div key={name} class="mono">
            {name}={typeof value === "string" ? value : JSON.stringify(value)}
          </div>
        ))}
      </dd>
    </>
  );
}
