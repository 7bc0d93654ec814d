import type { ComponentChildren } from "preact";
import type { App } from "../../api/mod.ts";
import { LinkButton } from "../../kit/button.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Page } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Actions } from "./actions.tsx";
import { type Action, type Listed, offered } from "./listed.ts";
import { OneEnrollment } from "./one-enrollment.tsx";

/** One enrollment, and what can be decided about it. */
export function EnrollmentPage(props: {
  app: App;
  id: string;
  state: Listed["state"] | "all";
  /** Absent when there is none with this state. */
  one: Listed | undefined;
  isRead: boolean;
  problem: Error | undefined;
  begin(action: Action): void;
  children: ComponentChildren;
}) {
  const { app, id, state, one, isRead, problem, begin, children } = props;
  const isAll = state === "all";
  return (
    <Page
      title={one?.peel ?? "Enrollment"}
      beside={one !== undefined && <Status word={one.state} />}
      actions={
        <>
          <LinkButton to={`/enrollments?state=${state}`}>All {isAll ? "enrollments" : state}</LinkButton>
          {one !== undefined && <Actions of={offered(app.session, one)} count={1} begin={begin} />}
        </>
      }
    >
      <Problem problem={problem} />
      {one !== undefined && <OneEnrollment app={app} one={one} />}
      {isRead && one === undefined && (
        <Empty title={`No enrollment ${id} is ${isAll ? "known" : state}`}>
          Someone may have decided about it.{" "}
          <a href={hrefOf(`/enrollments/${id}?state=all`)}>Look among all</a>
        </Empty>
      )}
      {children}
    </Page>
  );
}
