/**
 * Where to see the values that a job with this function returns as `***`: what it returns is stored on the bus, where
 * settings are sealed.
 *
 * @returns `undefined` for a function that hides nothing
 */
export function hintForHidden(name: string): string | undefined {
  if (!/^(?:settings|pillar)\.(?:items|get)$/.test(name)) return undefined;
  return `jobs return *** for the values of settings: see them with svc settings show PEEL, or on the host with svc-peel call ${name}`;
}
