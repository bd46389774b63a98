// Which versions are spoken, and what a server says about its own when it refuses ours.
import t from 'tap';
import {
  canResume,
  eraOfVersion,
  versionIfOfferable,
  versionToOfferNext,
  readVersionRefusal,
  versionRefusalOf,
  severityOf,
} from '../../src/mcp/protocol-versions.js';
import { modernCodes } from '../../src/shared/refusals.js';

t.test('log levels are in the order of syslog, and others are none', async (t) => {
  const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
  const severities = levels.map(severityOf);
  t.same(
    severities,
    [...severities].sort((one, other) => one - other),
  );
  t.equal(new Set(severities).size, levels.length);
  t.ok(severities.every((severity) => severity >= 0));
  t.equal(severityOf('loud'), -1);
});

t.test('only clients of the last version with sessions resume, and the next has none', async (t) => {
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18']) t.equal(canResume(version), false, version);
  t.equal(canResume('2025-11-25'), true);
  t.equal(eraOfVersion('2025-11-25'), 'legacy');
  t.equal(eraOfVersion('2026-07-28'), 'modern');
  t.equal(eraOfVersion('2027-01-01'), 'legacy', 'what is not known is not taken for it');
});

t.test('a version is offered next if it is spoken here and was not offered first', async (t) => {
  for (const version of ['2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'])
    t.equal(versionIfOfferable(version), version);
  for (const version of ['2025-11-25', '2026-07-28', '2023-01-01', ''])
    t.equal(versionIfOfferable(version), undefined, version);
});

t.test('after a refusal the newest version that it names is offered, else the caller’s own', async (t) => {
  for (const [refusal, own, other] of [
    ['unsupported protocol version: 2025-11-25 (supported: 2024-11-05, 2025-06-18)', '2025-03-26', '2025-06-18'],
    ['{"supported":["2024-11-05"]}', '2025-06-18', '2024-11-05'],
    ['Unsupported protocol version', '2025-03-26', '2025-03-26'],
    ['Bad VERSION', undefined, undefined],
    ['unsupported: 2025-11-25', '2025-06-18', '2025-06-18'],
    ['unsupported protocol version: 2025-11-25', '2025-11-25', '2025-03-26'],
    ['unsupported protocol version: 2025-11-25', undefined, '2025-03-26'],
    ['supported versions: 2026-07-28', '2025-06-18', undefined],
    ['no session, since 2025-06-18', '2025-06-18', undefined],
    ['version 12025-06-181 is not supported', '2025-03-26', '2025-03-26'],
  ] as const)
    t.equal(versionToOfferNext(refusal, own), other, refusal);
});

t.test('an error tells whether a server speaks only later versions, others, or no initialize', async (t) => {
  const later = Object.values(modernCodes)[0]!;
  for (const [error, refusal] of [
    [{ code: -32602, message: 'x', data: { supported: ['2026-07-28'] } }, { kind: 'version-later' }],
    [{ code: -32602, message: 'x', data: { supported: ['2020-01-01'] } }, { kind: 'version-unsupported' }],
    [{ code: -32602, data: { supported: ['2020-01-01', '2026-07-28'] } }, { kind: 'version-unsupported' }],
    [{ code: later, message: 'x' }, { kind: 'version-later' }],
    [{ code: -32601, message: 'no such method' }, { kind: 'initialize-unknown' }],
    [{ code: -32602, message: 'params._meta is missing' }, { kind: 'initialize-unknown' }],
  ] as const)
    t.match(readVersionRefusal(error), refusal, JSON.stringify(error));
  for (const error of [
    { code: -32602, message: 'x', data: { supported: ['2026-07-28', '2025-06-18'] } },
    { code: -32602, message: 'bad params' },
    { code: -32603, message: 'params._meta is missing' },
    { code: -32602, message: 7 },
    { code: -32000, message: 'x', data: { supported: 'all' } },
    undefined,
    'no',
    null,
  ])
    t.equal(readVersionRefusal(error), undefined, JSON.stringify(error));
});

t.test('the versions of a refusal are told to people, a few of them', async (t) => {
  t.equal(versionRefusalOf(['2026-07-28', '2027-01-01'], '2025-11-25').detail, '(2026-07-28, 2027-01-01)');
  t.same(versionRefusalOf([], '2025-11-25'), { kind: 'version-unsupported' });
  const many = Array.from({ length: 1_000 }, () => '2026-07-28');
  t.ok((versionRefusalOf(many, '2025-11-25').detail ?? '').length < 100);
  t.equal(versionRefusalOf(['2025-11-25'], '2025-11-25').kind, 'version-unsupported', 'the same is not later');
});
