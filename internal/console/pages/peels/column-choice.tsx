/** Which columns a table shows. */
export function ColumnChoice(props: {
  columns: readonly { id: string; title: string }[];
  chosen: readonly string[];
  onChange(ids: string[]): void;
}) {
  const { columns, chosen, onChange } = props;
  return (
    <details class="menu">
      <summary class="button">Columns</summary>
      <fieldset>
        <legend class="visually-hidden">Columns</legend>
        {columns.map(({ id, title }) => (
          <label key={id}>
            <input
              type="checkbox"
              name={`column-${id}`}
              checked={chosen.includes(id)}
              onChange={({ currentTarget: { checked } }) => {
                const ids = new Set(chosen);
                if (checked) ids.add(id);
                else ids.delete(id);
                onChange(["id", ...columns.map((one) => one.id).filter((one) => ids.has(one))]);
              }}
            />
            {title}
          </label>
        ))}
      </fieldset>
    </details>
  );
}
