import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";

/** A new token, in sight once: it is left only by the button. */
export function TokenCreated({ name, token, close }: { name: string; token: string; close(): void }) {
  return (
    <Dialog label={`The token ${name}`}>
      <div class="stack">
        <h2>The token {name}</h2>
        <p>It is shown once: masters keep only its SHA-256. Put it where its program reads it.</p>
        <section id="token-text" class="wide-text mono" tabIndex={0} aria-label="Token">
          {token}
        </section>
        <div class="actions">
          <Button kind="primary" onClick={close}>
            I have it
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
