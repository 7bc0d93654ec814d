import { useSignal } from "@preact/signals";
import { ApiError, type App, routes } from "../../api/mod.ts";
import { Field } from "../../kit/field.tsx";
import { Problem } from "../../kit/problem.tsx";
import type { Place } from "../../kit/router.ts";
import { readData } from "./read-data.ts";
import { type Reported, TriedEvent } from "./tried-event.tsx";

const fields = [
  { name: "tag", label: "Tag", placeholder: "disk/full", required: true },
  {
    name: "source",
    label: "Source, a peel ID; the masters without one",
    placeholder: "web-1.example.com",
    required: false,
  },
] as const;

/** What the reactor would do for an event, without doing it. The address has the event. */
export function TryEvent({ app, place }: { app: App; place: Place }) {
  const typed = useSignal({
    tag: place.query.get("tag") ?? "",
    source: place.query.get("source") ?? "",
    data: place.query.get("data") ?? "{}",
  });
  const reported = useSignal<Reported | undefined>(undefined);
  const problem = useSignal<Error | undefined>(undefined);
  const { tag, source, data } = typed.value;
  const change = (name: keyof typeof typed.value, text: string) => {
    typed.value = { ...typed.value, [name]: text };
  };
  const test = async () => {
    problem.value = undefined;
    const query = new URLSearchParams({ tag, ...(source === "" ? {} : { source }), data });
    app.router.go(`/reactor/test?${query}`, { replace: true });
    try {
      const event = { tag, ...(source === "" ? {} : { source }), data: readData(data) };
      reported.value = await app.client.call(routes.testEvent, { event });
    } catch (thrown) {
      reported.value = undefined;
      problem.value = thrown instanceof Error ? thrown : new ApiError(0, String(thrown));
    }
  };
  return (
    <>
      <form
        class="stack"
        aria-label="Event"
        onSubmit={(event) => {
          event.preventDefault();
          test();
        }}
      >
        <div class="tools">
          {fields.map(({ name, label, placeholder, required }) => (
            <Field
              key={name}
              {...{ id: `try-${name}`, label, placeholder, required, class: "input mono", grow: true }}
              value={typed.value[name]}
              onText={(text) => change(name, text.trim())}
            />
          ))}
        </div>
        <div class="field">
          <label for="try-data">Data, JSON</label>
          <textarea
            id="try-data"
            class="input mono"
            rows={4}
            spellcheck={false}
            value={data}
            onInput={({ currentTarget }) => change("data", currentTarget.value)}
          />
        </div>
        <div class="tools">
          <button type="submit" class="button primary">
            Try it
          </button>
          <span class="muted small">Nothing is done: it shows what would be.</span>
        </div>
      </form>
      <Problem problem={problem.value} />
      {reported.value !== undefined && <TriedEvent reported={reported.value} />}
    </>
  );
}
