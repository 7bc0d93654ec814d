/** How much one sender may send of one kind. */
export interface Budget {
  /** Messages a minute; 0 means no limit. */
  perMinute: number;
  /** How many may come at once; a minute's worth unless given. */
  burst?: number;
  /** Bytes a minute; absent means no limit. */
  bytesPerMinute?: number;
  /** How many bytes may come at once; a minute's worth unless given. */
  burstBytes?: number;
  /** Messages within two seconds that are a flood at once, if they are also a hundred times the budget; by default 5,000. */
  torrent?: number;
}

/** What is known of one sender and one kind. Times are milliseconds on one clock. */
export interface Meter {
  /** Messages and bytes that may come now. */
  messages: number;
  bytes: number;
  filledAt: number;
  /** Demand in the current window, whether it was within the budget or not. */
  windowAt: number;
  demand: number;
  demandBytes: number;
  /** Consecutive windows of flooding that are over. */
  flooded: number;
}

export interface Charged {
  /** Whether the message is within the budget. */
  within: boolean;
  /** Whether it has now sent ten times its budget for ten seconds, or a hundred times and more at once. */
  flooding: boolean;
}

const minute = 60_000;
/** Demand is judged in windows: a master that stalls for a second still sees a flood as one. */
const windowMs = 2_000;
const floodWindows = 5;
const floodFactor = 10;
/**
 * Nobody waits ten seconds for a peel that sends as fast as it can. So much in one window is beyond what an
 * honest peel has to send: its outbox keeps 1,000 messages and 64 MiB.
 */
const torrentFactor = 100;
const torrentMessages = 5_000;
const torrentBytes = 96 * 1024 * 1024;

export function newMeter(budget: Budget, now: number): Meter {
  return {
    messages: burstOf(budget),
    bytes: burstBytesOf(budget),
    filledAt: now,
    windowAt: now,
    demand: 0,
    demandBytes: 0,
    flooded: 0,
  };
}

/** Charges one message to a meter. Time that goes backwards gives nothing, and takes nothing. */
export function charge(meter: Meter, budget: Budget, size: number, now: number): Charged {
  const flooding = demand(meter, budget, size, now);
  return { within: spend(meter, budget, size, now), flooding };
}

/** Counts one message as demand only. @returns whether the sender floods, as in `Charged` */
export function demand(meter: Meter, budget: Budget, size: number, now: number): boolean {
  return budget.perMinute !== 0 && countDemand(meter, budget, size, now);
}

/** Charges one message whose demand is counted elsewhere. @returns whether it is within the budget */
export function spend(meter: Meter, budget: Budget, size: number, now: number): boolean {
  if (budget.perMinute === 0) return true;
  fill(meter, budget, now);
  const { bytesPerMinute } = budget;
  const within = meter.messages >= 1 && (bytesPerMinute === undefined || meter.bytes >= size);
  if (within) {
    meter.messages -= 1;
    if (bytesPerMinute !== undefined) meter.bytes -= size;
  }
  return within;
}

function fill(meter: Meter, budget: Budget, now: number): void {
  const elapsed = Math.max(0, now - meter.filledAt);
  meter.messages = Math.min(burstOf(budget), meter.messages + (budget.perMinute * elapsed) / minute);
  const { bytesPerMinute = 0 } = budget;
  meter.bytes = Math.min(burstBytesOf(budget), meter.bytes + (bytesPerMinute * elapsed) / minute);
  meter.filledAt = Math.max(meter.filledAt, now);
}

function countDemand(meter: Meter, budget: Budget, size: number, now: number): boolean {
  const elapsed = now - meter.windowAt;
  if (elapsed >= windowMs) {
    const flooded = isFlood(meter, budget) && elapsed < 2 * windowMs;
    meter.flooded = flooded ? meter.flooded + 1 : 0;
    meter.windowAt = now;
    meter.demand = 0;
    meter.demandBytes = 0;
  }
  meter.demand++;
  meter.demandBytes += size;
  return meter.flooded >= floodWindows || isTorrent(meter, budget);
}

function isTorrent({ demand, demandBytes }: Meter, budget: Budget): boolean {
  const { perMinute, bytesPerMinute, torrent = torrentMessages } = budget;
  const scale = (torrentFactor * windowMs) / minute;
  if (demand >= Math.max(torrent, perMinute * scale)) return true;
  return bytesPerMinute !== undefined && demandBytes >= Math.max(torrentBytes, bytesPerMinute * scale);
}

function isFlood({ demand, demandBytes }: Meter, { perMinute, bytesPerMinute }: Budget): boolean {
  const scale = (floodFactor * windowMs) / minute;
  if (demand >= perMinute * scale) return true;
  return bytesPerMinute !== undefined && demandBytes >= bytesPerMinute * scale;
}

function burstOf({ burst, perMinute }: Budget): number {
  return burst ?? perMinute;
}

function burstBytesOf({ burstBytes, bytesPerMinute = 0 }: Budget): number {
  return burstBytes ?? bytesPerMinute;
}
