import type { ComponentChildren } from "preact";
import { type App, routes, useAnswer } from "../../api/mod.ts";
import { Card } from "../../kit/card.tsx";
import { Fact } from "../../kit/fact.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Time } from "../../kit/time.tsx";
import { type Listed, proofOf, trustTexts } from "./listed.ts";

/** One enrollment: what to compare before a decision, side by side. */
export function OneEnrollment({ app, one }: { app: App; one: Listed }) {
  const fleet = useAnswer(app, routes.getBootstrapDocument, {}).value;
  const own = fleet?.fingerprints ?? (fleet?.fingerprint === "" ? [] : [fleet?.fingerprint ?? "…"]);
  return (
    <>
      {one.contested === true && (
        <p class="notice failed">
          Several hosts wait under this peel id. Compare their fingerprints, addresses and what they proved:
          if you approve one of them, the others are rejected.
        </p>
      )}
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
            <Fact name="It trusted" as="mono" value={one.trusted_ca_spki ?? "no longer shown"} />
            <Fact
              name="This fleet"
              as="mono"
              value={own.length === 0 ? "of an external CA" : own.join(" or ")}
            />
            <Fact name="It is of">
              <Status {...trustTexts[one.trust]} />
            </Fact>
          </dl>
        </Fingerprint>
      </div>
      <Details app={app} one={one} />
    </>
  );
}

function Details({ app, one }: { app: App; one: Listed }) {
  return (
    <Card label="Details" body="facts">
      <Fact name="State">
        <Status word={one.state} />
      </Fact>
      <Fact name="Host name">{one.hostname || "not reported"}</Fact>
      <Fact name="Address" as="mono" value={one.address ?? "not recorded"} />
      <Fact name="Proved">{proofOf(one) ?? "only its key"}</Fact>
      <Fact name="Asked">
        <Time at={one.created_at} now={app.now} />
      </Fact>
      <Fact name="Enrollment" as="mono" value={one.id} />
      <Fact name="Peel">
        {one.state === "active" && app.session.may("facts", "read") && (
          <a href={hrefOf(`/peels/${one.peel}`)}>{one.peel}</a>
        )}
      </Fact>
    </Card>
  );
}

function Fingerprint(props: {
  title: string;
  about: ComponentChildren;
  command: string;
  children: ComponentChildren;
}) {
  return (
    <Card title={props.title} body="stack">
      {props.children}
      <p class="muted small">{props.about}</p>
      <code class="command">{props.command}</code>
    </Card>
  );
}
