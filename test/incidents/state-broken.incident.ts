import { expect, setDefaultTimeout, test } from "bun:test";
import { nextOf, setStage, write } from "./stage.ts";

setDefaultTimeout(120_000);

const good = "motd:\n  file.managed:\n    - name: /tmp/motd\n    - contents: hello\n";

test("a broken state file: the place is named, and the last good files stay", async () => {
  await using stage = await setStage({
    edit(fleet) {
      write(fleet, "states/top.sls", "base:\n  '*': [motd]\n");
      write(fleet, "states/motd.sls", good);
    },
  });
  const { fleet } = stage;
  await stage.sees({ status: /^state files +1 environment, 0 refused$/m });
  write(fleet, "states/motd.sls", good.replace("file.managed", "file.manged"));
  const seen = await stage.sees({
    status: /states: environment base: motd\.sls:2:1: .*; next: correct motd\.sls:2:1 of environment base/,
    doctor: /warn {2}masters .*motd\.sls:2:1/,
    readyz: /"next":"correct motd\.sls:2:1 of environment base"/,
  });
  expect(nextOf(seen.doctor, "masters")).toBe("correct motd.sls:2:1 of environment base");
  write(fleet, "states/motd.sls", good);
  await stage.isWell();
});
