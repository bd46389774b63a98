// How long a request took, and how the time divides between the gateway and the server.

export interface Timed {
  readonly durationMs: number;
  /** Absent unless exactly one backend responded. */
  readonly backendMs?: number;
}

/** The gateway's part is the remainder: its own work, and sending the response to the caller. */
export function splitWords({ durationMs, backendMs }: Timed): string {
  if (backendMs === undefined) return `${ms(durationMs)} in all; the server’s part was not timed`;
  return `${ms(durationMs)} in all: ${ms(backendMs)} waiting for the server, ${ms(Math.max(0, durationMs - backendMs))} in the gateway`;
}

function ms(value: number): string {
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} ms`;
}
