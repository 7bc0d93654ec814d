import type { ComponentChildren } from "preact";
import { type App, routes, useQuery } from "../../api/mod.ts";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Time } from "../../kit/time.tsx";
import { type Listed, trustTexts } from "./listed.ts";

/** One enrollment: what to compare before a decision, side by side. */
export function OneEnrollment({ app, one }: { app: App; one: Listed }) {
  const fleet = useQuery(app, "fleet", (signal) =>
    app.client.call(routes.getBootstrapDocument, {}, signal),
  ).value;
  const own = fleet?.fingerprints ?? (fleet?.fingerprint === "" ? [] : [fleet?.fingerprint ?? "…"]);
  return (
    <>
      <div class="grid">
        <Fingerprint
          title="Key of the host"
          about={
            <>
              The host logs the same line with <code>enrollment pending</code>. Compare it there: a name is
              only a claim.
            </>
          }
          command="journalctl -u svc-peel | grep fingerprint"
        >
          <code class="compare">{one.fingerprint}</code>
        </Fingerprint>
        <Fingerprint
          title="CA root"
          about="The root that the host trusted when it asked, and that of this fleet. If they differ, the host was not connected to this fleet."
          command="svc ca fingerprint"
        >
          <dl class="facts">
            <dt>It trusted</dt>
            <dd class="mono">{one.trusted_ca_spki ?? "no longer shown"}</dd>
            <dt>This fleet</dt>
            <dd class="mono">{own.length === 0 ? "of an external CA" : own.join(" or ")}</dd>
            <dt>It is of</dt>
            <dd>
              <Status {...trustTexts[one.trust]} />
            </dd>
          </dl>
        </Fingerprint>
      </div>
      <section class="card" aria-label="Details">
        <dl class="body facts">
          <dt>State</dt>
          <dd>
            <Status word={one.state} />
          </dd>
          <dt>Host name</dt>
          <dd>{one.hostname || "not told"}</dd>
          <dt>Address</dt>
          <dd class="mono">{one.address ?? "not recorded"}</dd>
          <dt>Proved</dt>
          <dd>{one.evidence ?? "only its key"}</dd>
          <dt>Asked</dt>
          <dd>
            <Time at={one.created_at} now={app.now} />
          </dd>
          <dt>Enrollment</dt>
          <dd class="mono">{one.id}</dd>
          {one.state === "active" && app.session.may("facts", "read") && (
            <>
              <dt>Peel</dt>
              <dd>
                <a href={hrefOf(`/peels/${one.peel}`)}>{one.peel}</a>
              </dd>
            </>
          )}
        </dl>
      </section>
    </>
  );
}

function Fingerprint(props: {
  title: string;
  about: ComponentChildren;
  command: string;
  children: ComponentChildren;
}) {
  return (
    <section class="card" aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
      </header>
      <div class="body stack">
        {props.children}
        <p class="muted small">{props.about}</p>
        <code class="command">{props.command}</code>
      </div>
    </section>
  );
}
