// The shapes of a dataplane's admin listener responses, for the programs that query it. Members that are not listed here are dropped, so
// that nothing unexpected in the responses of another version is passed on.
import { z } from 'zod';

const era = z.enum(['legacy', 'modern']).optional();
const slots = z.array(z.number());

const sessionShape = z.object({
  slot: z.number(),
  session: z.string(),
  subject: z.string(),
  virtualHost: z.string(),
  protocolVersion: z.string(),
  client: z.string(),
  ageS: z.number(),
  idleS: z.number(),
  isBusy: z.boolean(),
  backends: z.array(z.object({ name: z.string(), state: z.string(), era, reason: z.string().optional() })),
});

export const sessionsShape = z.object({
  sessions: z.array(sessionShape),
  total: z.number(),
  next: z.string().optional(),
  silent: slots,
});

export const requestsShape = z.object({
  requests: z.array(
    z.object({
      slot: z.number(),
      requestId: z.string(),
      subject: z.string(),
      virtualHost: z.string(),
      method: z.string(),
      backend: z.string(),
      tool: z.string(),
      outcome: z.string(),
      detail: z.union([z.string(), z.number()]).optional(),
      status: z.number(),
      durationMs: z.number(),
      backendMs: z.number().optional(),
      endedAt: z.string(),
    }),
  ),
});

const names = z.union([z.literal('all'), z.array(z.string())]);

export const explanationShape = z.object({
  workers: z.array(
    z.object({
      slot: z.number(),
      config: z.string().optional(),
      /** With the config `kept`: the last known one, used while the store is lost. */
      kept: z.object({ readAt: z.string(), usedUntil: z.string() }).optional(),
      oddities: z.string().optional(),
      verdict: z.string().optional(),
      error: z.string().optional(),
      virtualHosts: z.array(z.string()).optional(),
      backends: z
        .array(
          z.object({
            name: z.string(),
            origin: z.string(),
            prefix: z.string(),
            obstacle: z.string().optional(),
            allowedTools: names,
            circuit: z.string(),
            reason: z.string().optional(),
            forgiven: z.record(z.string(), z.number()).optional(),
            lastFault: z.object({ reason: z.string(), at: z.string() }).nullable(),
            sessions: z.array(z.object({ session: z.string(), state: z.string(), era, reason: z.string().optional() })),
          }),
        )
        .default([]),
    }),
  ),
  silent: slots,
});

/** The JSON form of `/metrics`. */
export const figuresShape = z.array(
  z.object({
    name: z.string(),
    values: z.array(
      z.object({
        metricName: z.string().optional(),
        labels: z.record(z.string(), z.union([z.string(), z.number()])),
        value: z.number(),
      }),
    ),
  }),
);

export const workersShape = z.object({
  workers: z.array(
    z.object({
      slot: z.number(),
      pid: z.number().nullable(),
      state: z.string(),
      health: z.string(),
      version: z.string().optional(),
      sessions: z.number().optional(),
      requestsInFlight: z.number().optional(),
      memory: z.object({ rssBytes: z.number() }).optional(),
    }),
  ),
});

const troubles = z.array(z.object({ code: z.string(), message: z.string() }));

export const readyShape = z.object({ obstacles: troubles, degraded: troubles });

export type DataplaneSessions = z.infer<typeof sessionsShape>;
export type DataplaneRequest = z.infer<typeof requestsShape>['requests'][number];
export type Explanation = z.infer<typeof explanationShape>;
