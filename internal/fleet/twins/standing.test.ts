import { describe, expect, test } from "bun:test";
import { latest, nothingSeen, onlyOneSince, open, receive, type Standing, type Verdict } from "./standing.ts";

/** A moment in seconds, and what happens then: `A7` is message 7 of A, `-` one without an instance, `+` a connection. */
type Step = readonly [second: number, what: string];

function run(steps: readonly Step[], from: Standing = nothingSeen) {
  let standing = from;
  const verdicts: (readonly [number, Verdict])[] = [];
  for (const [second, what] of steps) {
    const at = second * 1_000;
    const [, id = "", seq = ""] = /^([A-Z])(\d+)$/.exec(what) ?? [];
    const message = what === "-" ? { at } : { at, instance: { id, seq: Number(seq) } };
    const judged = what === "+" ? open(standing, at) : receive(standing, message);
    ({ standing } = judged);
    if (judged.verdict !== undefined) verdicts.push([second, judged.verdict]);
  }
  return { standing, verdicts };
}

/** Heartbeats of one instance, 10 s apart. */
const beats = (id: string, from: number, to: number, seq = 1): Step[] =>
  Array.from({ length: Math.floor((to - from) / 10) + 1 }, (_, at) => [
    from + 10 * at,
    id === "-" ? id : `${id}${seq + at}`,
  ]);
const merged = (...lists: Step[][]): Step[] => lists.flat().sort(([one], [other]) => one - other);

describe("no clone", () => {
  test.each<[string, Step[]]>([
    [
      "one instance, with connections of its own",
      [[0, "+"], ...beats("A", 0, 300), [301, "+"], [301, "A99"]],
    ],
    ["a restart", [...beats("A", 0, 100), [103, "+"], ...beats("B", 103, 300)]],
    [
      "restarts one after the other",
      "ABCDEFG".split("").flatMap((id, at) => beats(id, 20 * at, 20 * at + 10)),
    ],
    [
      "a restart by the watchdog, with a heartbeat of the hung process right after it",
      [...beats("A", 0, 100), [103, "+"], [103, "B1"], [105, "A12"], ...beats("B", 113, 300, 2)],
    ],
    [
      "make before break: one process with two connections",
      [[0, "+"], ...beats("A", 0, 50), [55, "+"], [55, "A7"], [56, "A8"], ...beats("A", 60, 200, 9)],
    ],
    [
      "a heartbeat that another master stored a minute late",
      [...beats("A", 0, 100), [103, "+"], ...beats("B", 103, 160), [163, "A12"], ...beats("B", 164, 300, 8)],
    ],
    [
      "several of them, in one moment",
      [
        ...merged(beats("A", 0, 100), [[103, "+"]], beats("B", 103, 160)),
        ...([
          [163, "A12"],
          [163.01, "A13"],
          [163.02, "A14"],
        ] as Step[]),
        ...beats("B", 164, 300, 8),
      ],
    ],
    [
      "a late one, and the process now has connected again",
      [
        ...([...beats("A", 0, 100), [103, "+"], ...beats("B", 103, 160)] as Step[]),
        ...([
          [162, "+"],
          [162, "B8"],
          [163, "A12"],
          [172, "B9"],
          [182, "B10"],
        ] as Step[]),
      ],
    ],
    [
      "an upgrade from a version that names no process",
      [...beats("-", 0, 100), [103, "+"], ...beats("A", 103, 300)],
    ],
    [
      "and the way back",
      [...beats("-", 0, 100), ...beats("A", 103, 163), [170, "+"], ...beats("-", 171, 300)],
    ],
    [
      "a version before it, after one that names its process",
      [...beats("A", 0, 100), ...beats("-", 103, 300)],
    ],
    [
      "a connection that is reported before the first message, by a server whose clock is ahead",
      [...beats("A", 0, 100), [104.5, "+"], ...beats("B", 103, 133), [140, "A12"], [141, "B9"]],
    ],
    [
      "the same of a third one",
      [
        ...([...beats("A", 0, 40), ...beats("B", 60, 100), [104.5, "+"]] as Step[]),
        ...([...beats("C", 103, 143), [144, "B9"], [145, "A9"]] as Step[]),
      ],
    ],
    [
      "a late one, after the process now connected again and sent nothing for some seconds",
      [...beats("A", 0, 100), ...beats("B", 103, 143), [145, "+"], [153, "B6"], [163, "A12"], [163, "B7"]],
    ],
    [
      "several of them, which a master stores bit by bit",
      [
        ...merged(beats("A", 0, 20), beats("B", 30, 90)),
        ...([
          [91, "A4"],
          [97, "A5"],
          [100, "B8"],
          [104, "A6"],
          [110, "B9"],
          [111, "A7"],
        ] as Step[]),
        ...beats("B", 120, 300, 10),
      ],
    ],
    ["two for less than 30 s", merged(beats("A", 0, 300), beats("B", 101, 121))],
    ["two for 30 s", merged(beats("A", 0, 130), beats("B", 100, 130))],
    [
      "the earlier one again within 30 s",
      [
        [0, "A1"],
        [10, "B1"],
        [20, "+"],
        [20, "A2"],
        [39.9, "A3"],
      ],
    ],
    [
      "the earlier one again, on its old connection",
      [
        [0, "A1"],
        [10, "B1"],
        [60, "A2"],
      ],
    ],
  ])("%s", (_, steps) => {
    expect(run(steps).verdicts).toEqual([]);
  });
});

describe("a clone", () => {
  test.each<[string, Step[], number]>([
    ["two at once", merged(beats("A", 0, 300), beats("B", 104, 300)), 150],
    ["a copy of an earlier version", merged(beats("A", 0, 300), beats("-", 104, 300)), 150],
    ["the same, with a copy of a later version", merged(beats("-", 0, 300), beats("A", 104, 300)), 150],
    ["in turns", [...beats("A", 0, 50), [60, "+"], ...beats("B", 60, 100), [120, "+"], [120, "A7"]], 120],
    [
      "in turns, days apart",
      [
        [0, "A1"],
        [90_000, "B1"],
        [180_000, "+"],
        [180_000, "A2"],
      ],
      180_000,
    ],
    [
      "in turns, after 30 s",
      [
        [0, "A1"],
        [10, "B1"],
        [35, "+"],
        [40, "A2"],
      ],
      40,
    ],
    [
      "in turns, the report of the connection comes after the message",
      [
        [0, "A1"],
        [10, "B1"],
        [60, "A2"],
        [59.9, "+"],
      ],
      59.9,
    ],
    [
      "in turns, back a second after the other one's first message",
      [
        ...([
          [0, "A1"],
          [10, "+"],
          [10, "B1"],
          [11, "+"],
          [11, "A2"],
          [41, "A3"],
        ] as Step[]),
      ],
      41,
    ],
    [
      "the same, the report of the first connection comes after the message",
      [
        ...([
          [0, "A1"],
          [10, "B1"],
          [9.9, "+"],
          [11, "+"],
          [11, "A2"],
          [41, "A3"],
        ] as Step[]),
      ],
      41,
    ],
    [
      "in turns, while the other restarts",
      [
        [0, "A1"],
        [20, "B1"],
        [40, "C1"],
        [80, "+"],
        [80, "A2"],
      ],
      80,
    ],
  ])("%s", (_, steps, at) => {
    expect(run(steps).verdicts[0]).toEqual([at, "twins"]);
  });

  test("of which any part of the messages is missing is found no earlier", () => {
    const whole = merged(beats("A", 0, 600), beats("B", 104, 600));
    for (let leftOut = 3; leftOut < 6; leftOut++) {
      for (let at = 0; at < leftOut; at++) {
        const part = whole.filter((_, index) => index % leftOut !== at);
        const [first] = run(part).verdicts;
        expect(first?.[1]).toBe("twins");
        expect(first?.[0]).toBeGreaterThan(134);
      }
    }
  });

  test("is found again while there are two, and not by what was there before", () => {
    const twins = merged(beats("A", 0, 150), beats("B", 104, 154));
    const { standing, verdicts } = run(twins);
    expect(verdicts).toHaveLength(1);
    expect(run(beats("A", 160, 400, 17), standing).verdicts).toEqual([]);
    const both = merged(beats("A", 160, 400, 17), beats("B", 164, 400, 7));
    expect(run(both, standing).verdicts[0]?.[1]).toBe("twins");
  });
});

describe("a restored machine is reported, and does not count as a clone", () => {
  test.each<[string, Step[]]>([
    ["of one process", [...beats("A", 0, 100), [200, "+"], ...beats("A", 200, 400, 4)]],
    [
      "after a restart",
      [...beats("A", 0, 100), [103, "+"], ...beats("B", 103, 200), [250, "+"], ...beats("A", 250, 500, 4)],
    ],
    [
      "after a restart, from a moment before it",
      [...beats("A", 0, 100), [103, "+"], ...beats("B", 103, 200), [250, "+"], ...beats("A", 250, 500, 11)],
    ],
  ])("%s", (_, steps) => {
    expect(run(steps).verdicts.map(([, verdict]) => verdict)).toEqual(["restored"]);
  });

  test("what is overtaken on the way is not one", () => {
    const steps: Step[] = [
      [0, "A1"],
      [10, "A3"],
      [10.1, "A2"],
      [20, "A5"],
      [20.1, "A4"],
      [30, "A6"],
    ];
    expect(run(steps).verdicts).toEqual([]);
  });

  test("together with the process that runs it is a clone", () => {
    const steps = merged(beats("A", 0, 100), beats("B", 103, 500), beats("A", 250, 500, 4));
    expect(
      run(steps)
        .verdicts.map(([, verdict]) => verdict)
        .slice(0, 2),
    ).toEqual(["restored", "twins"]);
  });
});

test("the order in which messages arrive changes nothing", () => {
  const restart: Step[] = [...beats("A", 0, 100), ...beats("B", 103, 300)];
  for (let first = 0; first < restart.length; first++) {
    for (let second = 0; second < restart.length; second++) {
      const moved = restart.toSpliced(first, 1).toSpliced(second, 0, restart[first] ?? [0, "A1"]);
      expect(run(moved).verdicts.filter(([, verdict]) => verdict === "twins")).toEqual([]);
    }
  }
});

test("it remembers no more with time", () => {
  const ids = Array.from({ length: 200 }, (_, at) => String.fromCharCode(65 + (at % 26)));
  const steps = ids.flatMap((id, at): Step[] => [
    [20 * at, "+"],
    [20 * at, `${id}${at + 1}`],
    [20 * at + 10, "-"],
  ]);
  const { standing } = run(steps);
  expect(standing.seen.length).toBeLessThan(5);
  expect(standing.opened.length).toBeLessThan(5);
});

test("since when there is only one", () => {
  expect(onlyOneSince(nothingSeen)).toBeUndefined();
  const since = (...steps: Step[]) => onlyOneSince(run(steps).standing);
  expect(since(...beats("A", 5, 100))).toBe(5_000);
  expect(since(...beats("A", 5, 100), ...beats("B", 103, 200))).toBe(103_000);
  expect(since(...merged(beats("A", 5, 200), beats("B", 103, 123)))).toBe(123_000);
  expect(latest(run(merged(beats("A", 5, 200), beats("B", 103, 123))).standing.seen)?.id).toBe("A");
});
