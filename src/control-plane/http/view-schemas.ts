// The schemas of the views of what happens in the gateway.
import { anyObject, manyTexts, count, exactly, text, time } from '../common/schema-parts.js';

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
    forgiven: {
      type: 'object',
      additionalProperties: count,
      description: 'How often each oddity of its answers was overlooked.',
    },
    lastFault: { type: ['object', 'null'], properties: { reason: text, at: time }, required: ['reason', 'at'] },
    sessions: {
      type: 'array',
      items: exactly({ session: hash, state, era, reason: text }, ['era', 'reason']),
    },
  },
  ['obstacle', 'reason', 'forgiven'],
);

const explainedByWorker = exactly(
  {
    slot: count,
    config: { ...text, description: 'read, missing or failed; kept: read before the store was lost.' },
    kept: exactly({ readAt: time, usedUntil: time }),
    oddities: { ...text, description: 'Problems in the user config.' },
    verdict: { ...text, description: 'What the outcome of a call of the tool would be, and why.' },
    error: text,
    virtualHosts: { ...manyTexts, description: 'The existing virtual hosts, if there is none with this id.' },
    backends: { type: 'array', items: explainedBackend },
  },
  ['config', 'kept', 'oddities', 'verdict', 'error', 'virtualHosts'],
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
      slot: { ...count, description: 'The slot of the worker that answered, if the dataplane did.' },
      requestId: text,
      subject: hash,
      virtualHost: text,
      method: text,
      backend: { ...text, description: 'Empty if no backend, or more than one, was asked.' },
      tool: text,
      outcome: { ...text, description: 'ok, tool-error, rpc-error, fault, refused or gone.' },
      detail: { type: ['string', 'integer'], description: 'The code of a refusal or an error, the kind of a fault.' },
      status: { ...count, description: 'The HTTP status; 0 if no answer was sent.' },
      durationMs: { ...duration, description: 'From the whole request to the whole answer.' },
      backendMs: {
        ...duration,
        description: 'Part of `durationMs`: from sending the request to the backend until its answer.',
      },
      endedAt: time,
    },
    ['slot', 'detail', 'backendMs'],
  ),
  AuditEntry: exactly(
    {
      at: time,
      operation: {
        ...text,
        description: 'The `operationId` of the request, or the name of the operation if a command made the change.',
      },
      kind: { type: 'string', enum: ['servers', 'compositions', 'connections', 'user-configs', 'secrets'] },
      subject: { ...text, description: 'Who has made the change.' },
      requestId: text,
      id: { ...text, description: 'Of what was changed.' },
      name: text,
      owner: { ...text, description: 'The owner at the time of the change.' },
      team: text,
      before: {
        ...anyObject,
        description: 'The changed properties before the change; absent if something was created.',
      },
      after: { ...anyObject, description: 'The changed properties after the change; absent if something was removed.' },
      outcome: {
        type: 'string',
        enum: ['unknown'],
        description: 'Present if the store did not confirm whether the change was made.',
      },
      unpublished: {
        ...count,
        description: 'Number of user configs that did not have the change yet when the request was answered.',
      },
      fault: { ...text, description: 'Why the request failed although the change was made, or may have been made.' },
    },
    ['requestId', 'id', 'name', 'owner', 'team', 'before', 'after', 'outcome', 'unpublished', 'fault'],
  ),
} as const;
