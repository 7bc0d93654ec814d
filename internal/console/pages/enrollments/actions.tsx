import { Button } from "../../kit/button.tsx";
import { type Action, verbs } from "./listed.ts";

/** The buttons of what can be decided. @param props.count of the enrollments that they concern */
export function Actions(props: { of: readonly Action[]; count: number; begin(action: Action): void }) {
  const { of, count, begin } = props;
  return (
    <>
      {of.map((action) => (
        <Button key={action} kind={action === "approve" ? "primary" : "danger"} onClick={() => begin(action)}>
          {verbs[action]}
          {count > 1 && ` ${count}`}
        </Button>
      ))}
    </>
  );
}
