import { expect, setDefaultTimeout, test } from "bun:test";
import { nextOf, setStage, write } from "./stage.ts";

setDefaultTimeout(120_000);

const rule = `rules:
  - name: storm
    match: svc/job/*/return/*
    throttle: 0
    do:
      - emit: { tag: storm/seen }
`;

test("a rule fires too often: the next step closes its breaker", async () => {
  await using stage = await setStage({
    flags: ["--reactor-storm-rate", "3"],
    edit: (fleet) => write(fleet, "reactor/storm.yaml", rule),
  });
  const { fleet } = stage;
  await stage.join("web-1");
  for (let i = 0; i < 5; i++) {
    const { code } = await fleet.svc("run", "*", "test.ping");
    expect(code).toBe(0);
  }
  const seen = await stage.sees({
    status: /is degraded: reactor: open breakers: storm; next: svc reactor reset storm/,
    doctor: /warn {2}masters .* open breakers: storm\n +next: svc reactor reset storm\n/,
    readyz: /"message":"open breakers: storm","next":"svc reactor reset storm"/,
    log: /"reactor breaker opened"/,
  });
  await stage.follow(nextOf(seen.doctor, "masters"));
  await stage.isWell();
});
