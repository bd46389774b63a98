// How long a request took, and whose time it was.

export interface Timed {
  readonly durationMs: number;
  /** Absent where no backend alone has answered. */
  readonly backendMs?: number;
}

/** The gateway's share is what is left: its own work, and the answer's way out to the caller. */
export function splitWords({ durationMs, backendMs }: Timed): string {
  if (backendMs === undefined) return `${ms(durationMs)} in the gateway; no backend was timed`;
  return `${ms(durationMs)}: ${ms(Math.max(0, durationMs - backendMs))} in the gateway, ${ms(backendMs)} until the backend answered`;
}

function ms(value: number): string {
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} ms`;
}
