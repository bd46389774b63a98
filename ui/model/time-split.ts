// How long a request took, and how the time divides between gateway and backend.

export interface Timed {
  readonly durationMs: number;
  /** Absent unless exactly one backend responded. */
  readonly backendMs?: number;
}

/** The gateway's part is the remainder: its own work, and sending the response to the caller. */
export function splitWords({ durationMs, backendMs }: Timed): string {
  if (backendMs === undefined) return `${ms(durationMs)} in the gateway; no backend was timed`;
  return `${ms(durationMs)}: ${ms(Math.max(0, durationMs - backendMs))} in the gateway, ${ms(backendMs)} until the backend answered`;
}

function ms(value: number): string {
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} ms`;
}
