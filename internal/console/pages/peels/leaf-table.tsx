import { useSignal } from "@preact/signals";
import { Table } from "../../kit/table/table.tsx";
import type { Leaf } from "./flatten.ts";

/** Values by their paths, filtered by a part of either. */
export function LeafTable({ label, name, leaves }: { label: string; name: string; leaves: readonly Leaf[] }) {
  const filter = useSignal("");
  const wanted = filter.value.toLowerCase();
  const rows = leaves.filter(({ path, text }) => `${path}\n${text}`.toLowerCase().includes(wanted));
  return (
    <>
      <div class="tools">
        <label class="visually-hidden" for="leaf-filter">
          Filter {label.toLowerCase()}
        </label>
        <input
          id="leaf-filter"
          class="input"
          type="search"
          placeholder={`Filter ${leaves.length} ${label.toLowerCase()}`}
          value={filter.value}
          onInput={({ currentTarget }) => {
            filter.value = currentTarget.value;
          }}
        />
      </div>
      <Table
        label={label}
        rows={rows}
        rowKey={({ path }) => path}
        columns={[
          {
            id: "path",
            title: name,
            show: ({ path }) => <span class="mono">{path}</span>,
            by: ({ path }) => path,
          },
          { id: "value", title: "Value", show: ({ text }) => <span title={text}>{text}</span> },
        ]}
      />
    </>
  );
}
