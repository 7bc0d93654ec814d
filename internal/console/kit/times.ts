const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** `3 min ago`, `in 2 d`: how far from now a time is, in one unit. Both are milliseconds since the Unix epoch. */
export function relative(at: number, now: number): string {
  const away = Math.abs(now - at);
  if (away < 1_000) return "now";
  const text = brief(away);
  return at > now ? `in ${text}` : `${text} ago`;
}

/** A length of time in its largest unit, rounded down: `40 ms`, `12 s`, `3 min`, `5 h`, `2 d`. */
export function brief(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < minuteMs) return `${Math.floor(ms / 1_000)} s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min`;
  if (ms < 2 * dayMs) return `${Math.floor(ms / hourMs)} h`;
  return `${Math.floor(ms / dayMs)} d`;
}

/** How long something took, to be compared with others: `320 ms`, `4.2 s`, `3 min 07 s`, `2 h 05 min`. */
export function took(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < minuteMs) return `${(ms / 1_000).toFixed(1)} s`;
  const two = (count: number) => String(Math.floor(count)).padStart(2, "0");
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min ${two((ms % minuteMs) / 1_000)} s`;
  return `${Math.floor(ms / hourMs)} h ${two((ms % hourMs) / minuteMs)} min`;
}

/** A time in the zone of the reader, to the second, largest unit first. */
export function local(at: number): string {
  const time = new Date(at);
  const two = (count: number) => String(count).padStart(2, "0");
  const day = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join("-");
  return `${day} ${clockTime(at)}`;
}

/** The time of day in the zone of the reader. */
export function clockTime(at: number): string {
  const time = new Date(at);
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((count) => String(count).padStart(2, "0"))
    .join(":");
}
