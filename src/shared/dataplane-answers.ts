// The responses of a dataplane's admin listener, for the programs that query it. Members that are not listed are dropped.
import * as z from 'zod';

// `meta` is for the control plane, which documents the responses that it passes on.
const count = z.number().meta({ type: 'integer', minimum: 0 });
const duration = z.number().meta({ minimum: 0 });
const time = z.string().meta({ format: 'date-time' });
const hash = z.string().meta({ pattern: '^[0-9a-f]{12}$', description: 'As in the log.' });
const era = z.enum(['legacy', 'modern']).optional();
const state = z.string().meta({ description: 'Of its upstream session; `unused`: there is none.' });
// If there are several dataplanes, the control plane puts the number of the dataplane before the slot.
const severalDataplanesNote = 'With several dataplanes: its number, `/` and the slot';
const slot = count.meta({ type: ['integer', 'string'], description: `Of a worker. ${severalDataplanesNote}.` });
const slots = z.array(slot).meta({
  description: `Workers that did not answer in time. ${severalDataplanesNote}, or the number alone if none of its workers did.`,
});

const sessionShape = z.object({
  slot,
  session: hash,
  subject: hash,
  virtualHost: z.string(),
  protocolVersion: z.string(),
  client: z.string().meta({ description: 'What it calls itself.' }),
  ageS: duration,
  idleS: duration,
  isBusy: z.boolean(),
  backends: z.array(z.object({ name: z.string(), state, era, reason: z.string().optional() })),
});

export const sessionsShape = z.object({
  sessions: z.array(sessionShape),
  total: count.meta({ description: 'On all pages.' }),
  next: z.string().optional(),
  silent: slots,
});

export const requestShape = z.object({
  slot,
  requestId: z.string(),
  subject: hash,
  virtualHost: z.string(),
  method: z.string(),
  backend: z.string().meta({ description: 'Empty if no backend, or more than one, was asked.' }),
  tool: z.string(),
  outcome: z.string().meta({ description: 'ok, tool-error, rpc-error, fault, refused or gone.' }),
  detail: z
    .union([z.string(), z.number()])
    .meta({
      type: ['string', 'integer'],
      description: 'The code of a refusal or an error, the kind of a fault.',
    })
    .optional(),
  verdict: z
    .string()
    .meta({ description: 'Of a call of a tool that failed: what the same call would get now, and why.' })
    .optional(),
  status: count.meta({ description: 'The HTTP status; 0 if no answer was sent.' }),
  durationMs: duration.meta({ description: 'From the whole request to the whole answer.' }),
  backendMs: duration
    .meta({ description: 'Part of `durationMs`: from sending the request to the backend until its answer.' })
    .optional(),
  endedAt: time,
});

export const requestsShape = z.object({ requests: z.array(requestShape) });

const explainedBackend = z.object({
  name: z.string(),
  origin: z.string(),
  prefix: z.string(),
  obstacle: z.string().meta({ description: 'Why it is never reached.' }).optional(),
  allowedTools: z.union([z.literal('all'), z.array(z.string())]).meta({ description: 'By their own names.' }),
  circuit: z.string().meta({ description: 'Whether this worker can connect to it.' }),
  reason: z.string().optional(),
  forgiven: z
    .record(z.string(), count)
    .meta({ description: 'How often each oddity of its answers was overlooked.' })
    .optional(),
  lastFault: z
    .object({ reason: z.string(), at: time })
    .nullable()
    .meta({ type: ['object', 'null'] }),
  sessions: z.array(z.object({ session: hash, state, era, reason: z.string().optional() })),
});

export const explanationShape = z.object({
  workers: z.array(
    z.object({
      slot,
      config: z
        .string()
        .meta({ description: 'read, missing or failed; kept: read before the store was lost.' })
        .optional(),
      kept: z.object({ readAt: time, usedUntil: time }).optional(),
      oddities: z.string().meta({ description: 'Problems in the user config.' }).optional(),
      verdict: z.string().meta({ description: 'What the outcome of a call of the tool would be, and why.' }).optional(),
      error: z.string().optional(),
      virtualHosts: z
        .array(z.string())
        .meta({ description: 'The existing virtual hosts, if there is none with this id.' })
        .optional(),
      backends: z.array(explainedBackend).default([]),
    }),
  ),
  silent: slots,
});

/** The shape of `/metrics` as JSON. */
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

const obstaclesShape = z.array(z.object({ code: z.string(), message: z.string() }));

export const readyShape = z.object({ obstacles: obstaclesShape, degraded: obstaclesShape });

export type DataplaneSessions = z.infer<typeof sessionsShape>;
export type DataplaneRequest = z.infer<typeof requestsShape>['requests'][number];
export type DataplaneFigures = z.infer<typeof figuresShape>;
export type DataplaneReadiness = z.infer<typeof readyShape>;
