// The schemas of the views of what happens in the gateway.
import { anyObject, manyTexts, count, exactly, text, time } from './schema-parts.js';

const slots = { type: 'array', items: count, description: 'Workers that did not answer in time.' };
const duration = { type: 'number', minimum: 0 };
const hash = { type: 'string', pattern: '^[0-9a-f]{12}$', description: 'As in the log.' };
const era = { type: 'string', enum: ['legacy', 'modern'] };
const state = { type: 'string', description: 'Of its upstream session; `unused`: there is none.' };

const upstream = exactly({ name: text, state, era, reason: text }, ['era', 'reason']);

const explainedBackend = exactly(
  {
    name: text,
    origin: text,
    prefix: text,
    obstacle: { ...text, description: 'Why it is never reached.' },
    allowedTools: {
      description: 'By their own names.',
      anyOf: [{ const: 'all' }, { type: 'array', items: text }],
    },
    circuit: { ...text, description: 'Whether this worker can connect to it.' },
    reason: text,
    lastFault: { type: ['object', 'null'], properties: { reason: text, at: time }, required: ['reason', 'at'] },
    sessions: {
      type: 'array',
      items: exactly({ session: hash, state, era, reason: text }, ['era', 'reason']),
    },
  },
  ['obstacle', 'reason'],
);

const explainedByWorker = exactly(
  {
    slot: count,
    config: { ...text, description: 'Whether the user config could be read.' },
    oddities: { ...text, description: 'What in the user config is not as it should be.' },
    verdict: { ...text, description: 'What a call of the tool would come to, and why.' },
    error: text,
    virtualHosts: { ...manyTexts, description: 'Those that there are, where there is none of this id.' },
    backends: { type: 'array', items: explainedBackend },
  },
  ['config', 'oddities', 'verdict', 'error', 'virtualHosts'],
);

export const viewSchemas = {
  Explanation: exactly({
    subject: text,
    virtualHost: text,
    tool: text,
    workers: { type: 'array', items: explainedByWorker },
    silent: slots,
  }),
  DataplaneSessions: exactly({
    sessions: {
      type: 'array',
      items: exactly({
        slot: count,
        session: hash,
        subject: hash,
        virtualHost: text,
        protocolVersion: text,
        client: { ...text, description: 'What it calls itself.' },
        ageS: duration,
        idleS: duration,
        isBusy: { type: 'boolean' },
        backends: { type: 'array', items: upstream },
      }),
    },
    total: { ...count, description: 'On all pages.' },
    silent: slots,
  }),
  ToldRequest: exactly(
    {
      plane: { type: 'string', enum: ['control-plane', 'dataplane'] },
      slot: { ...count, description: 'Of the dataplane: the worker that has answered it.' },
      requestId: text,
      subject: hash,
      virtualHost: text,
      method: text,
      backend: { ...text, description: 'Empty where none was asked, or several were.' },
      tool: text,
      outcome: { ...text, description: 'ok, tool-error, rpc-error, fault, refused or gone.' },
      detail: { type: ['string', 'integer'], description: 'The code of a refusal or an error, the kind of a fault.' },
      status: { ...count, description: '0: no answer went out.' },
      durationMs: { ...duration, description: 'From the whole request to the whole answer.' },
      backendMs: { ...duration, description: 'Of it, from asking the backend to its answer.' },
      endedAt: time,
    },
    ['slot', 'detail', 'backendMs'],
  ),
  AuditEntry: exactly(
    {
      at: time,
      operation: { ...text, description: 'The `operationId` of what was asked for, or what a command has done.' },
      kind: { type: 'string', enum: ['servers', 'compositions', 'connections', 'user-configs', 'secrets'] },
      subject: { ...text, description: 'Who has made the change.' },
      requestId: text,
      id: { ...text, description: 'Of what was changed.' },
      name: text,
      owner: { ...text, description: 'Whose it was then.' },
      team: text,
      before: { ...anyObject, description: 'What was another; absent for what was made.' },
      after: { ...anyObject, description: 'What it is; absent for what was removed.' },
      outcome: { type: 'string', enum: ['unknown'], description: 'Whether it was made the store has not said.' },
      unpublished: { ...count, description: 'User configs that did not have it when it was answered.' },
      fault: { ...text, description: 'Why the request failed though it was made, or may be.' },
    },
    ['requestId', 'id', 'name', 'owner', 'team', 'before', 'after', 'outcome', 'unpublished', 'fault'],
  ),
} as const;
