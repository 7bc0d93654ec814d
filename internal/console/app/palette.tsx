import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type App, allPages, type ConsolePage, routes } from "../api/mod.ts";
import { Dialog } from "../kit/dialog.tsx";
import { findGoals, type Goal } from "./find.ts";

const maxPeels = 20_000;
const maxJobs = 200;

/** Goes to a page, a peel or a job by its name. */
export function Palette(props: { app: App; pages: readonly ConsolePage[]; close(): void }) {
  const { app, close } = props;
  const typed = useSignal("");
  const chosen = useSignal(0);
  const pages = props.pages
    .filter((page) => page.may(app.session))
    .map(({ name, path }): Goal => ({ kind: "Page", name, path }));
  const goals = useSignal<readonly Goal[]>(pages);
  useEffect(() => {
    const over = new AbortController();
    readGoals(app, over.signal, (more) => {
      if (!over.signal.aborted) goals.value = [...goals.value, ...more];
    });
    return () => over.abort();
  }, []);
  const found = findGoals(goals.value, typed.value);
  const at = Math.min(chosen.value, found.length - 1);
  const go = ({ path }: Goal) => {
    close();
    app.router.go(path);
  };
  return (
    <Dialog label="Go to a page, a peel or a job" onClose={close}>
      <div class="palette">
        <input
          id="palette-search"
          class="input"
          type="text"
          role="combobox"
          aria-label="Go to a page, a peel or a job"
          aria-expanded={found.length > 0}
          aria-controls="palette-goals"
          aria-autocomplete="list"
          {...(at >= 0 ? { "aria-activedescendant": `goal-${at}` } : {})}
          autocomplete="off"
          spellcheck={false}
          placeholder="A page, a peel or a job"
          value={typed.value}
          onInput={({ currentTarget }) => {
            typed.value = currentTarget.value;
            chosen.value = 0;
          }}
          onKeyDown={(event) => {
            const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            const goal = found[at];
            if (step !== undefined) chosen.value = (at + step + found.length) % Math.max(found.length, 1);
            else if (event.key === "Enter" && goal !== undefined) go(goal);
            else return;
            event.preventDefault();
          }}
        />
        <div id="palette-goals" role="listbox" aria-label="Goals" hidden={found.length === 0}>
          {found.map((goal, index) => (
            <div
              key={goal.path}
              id={`goal-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              // Before the field loses the focus.
              onMouseDown={(event) => {
                event.preventDefault();
                go(goal);
              }}
            >
              <span class="muted small">{goal.kind}</span>
              <span class="cut">{goal.name}</span>
              <span class="muted small cut">{goal.about}</span>
            </div>
          ))}
        </div>
        {found.length === 0 && (
          <p class="muted small" role="status">
            No page, peel or job has this name.
          </p>
        )}
      </div>
    </Dialog>
  );
}

/** Reads what there is, as far as the session may; what cannot be read is not offered. */
async function readGoals(app: App, signal: AbortSignal, report: (goals: readonly Goal[]) => void) {
  const peels = async () => {
    const { items } = await allPages(app, routes.listPeels, { limit: 1_000 }, { max: maxPeels, signal });
    report(
      items.map(({ id, alive, os }) => ({
        ...{ kind: "Peel", name: id, path: `/peels/${id}` },
        about: [alive ? "alive" : "silent", os].filter(Boolean).join(", "),
      })),
    );
  };
  const jobs = async () => {
    const { items } = await app.client.page(routes.listJobs, { limit: maxJobs }, signal);
    report(
      items.map(({ jid, function: name, status, target }) => ({
        ...{ kind: "Job", name, path: `/jobs/${jid}` },
        about: [status, target].filter(Boolean).join(" "),
      })),
    );
  };
  await Promise.allSettled([
    ...(app.session.may("facts", "read") ? [peels()] : []),
    ...(app.session.may("jobs", "list") ? [jobs()] : []),
  ]);
}
