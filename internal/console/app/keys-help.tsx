import { Button } from "../kit/button.tsx";
import { Dialog } from "../kit/dialog.tsx";
import type { Keys } from "../kit/keys.ts";

/** Lists the keys that do something on this page. */
export function KeysHelp({ keys, close }: { keys: Keys; close(): void }) {
  return (
    <Dialog label="Keys" onClose={close}>
      <div class="stack">
        <h2>Keys</h2>
        <ul class="keys">
          {keys.list().map(([key, title]) => (
            <li key={key}>
              <span>{title}</span>
              <span>
                {key.split(" ").map((part) => (
                  <kbd key={part}>{part}</kbd>
                ))}
              </span>
            </li>
          ))}
          <li>
            <span>Close</span>
            <kbd>Esc</kbd>
          </li>
        </ul>
        <div class="actions">
          <Button onClick={close}>Close</Button>
        </div>
      </div>
    </Dialog>
  );
}
