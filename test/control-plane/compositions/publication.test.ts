import t, { type Test } from 'tap';
import { publicationChanges, planPublication } from '../../../src/control-plane/compositions/publication.js';
import { publicationKey } from '../../../src/user-config/config-editing.js';
import { limits } from '../../../src/shared/limits.js';

const HOST = '{"backends":{}}';
const OTHER = '{"backends":{"a":{"name":"a","url":"https://a.example/mcp"}}}';

/** The stored record and config of one subject, changed as the plans say. */
class Shelf {
  record: Buffer | undefined;
  config: Buffer | undefined;

  constructor(config?: string) {
    this.config = config === undefined ? undefined : Buffer.from(config);
  }

  get text(): string | undefined {
    return this.config?.toString();
  }

  /** Brings the config up to date. @returns what there was to do. */
  publish(t: Test, wanted: Readonly<Record<string, string>>): string {
    const state = { subject: 'alice', ...this.#state() };
    const plan = planPublication(state, new Map(Object.entries(wanted)));
    if (plan.kind === 'obstructed') return plan.reason;
    if (plan.kind === 'current') return 'nothing';
    const changes = publicationChanges(state, plan);
    for (const { space, key, expected, value } of changes) {
      const member = space === 'publications' ? 'record' : 'config';
      t.equal(key, space === 'publications' ? publicationKey('alice').key : 'alice');
      t.same(expected, this[member], 'a change expects what was read');
      this[member] = value;
    }
    t.same(changes.map(({ space }) => space).sort(), ['publications', 'user-configs'], 'both are in the swap');
    return 'changed';
  }

  write(config: string | undefined): void {
    this.config = config === undefined ? undefined : Buffer.from(config);
  }

  #state(): { record: Buffer | undefined; config: Buffer | undefined } {
    return { record: this.record, config: this.config };
  }
}

t.test('where there was no config, there is none afterwards', async (t) => {
  for (const nothing of [undefined, '']) {
    const shelf = new Shelf(nothing);
    t.equal(shelf.publish(t, {}), 'nothing');
    t.equal(shelf.publish(t, { x: HOST }), 'changed');
    t.equal(shelf.text, `{"virtual_hosts":{"x":${HOST}}}`);
    t.equal(shelf.publish(t, { x: HOST }), 'nothing');
    t.equal(shelf.publish(t, { x: OTHER, y: HOST }), 'changed');
    t.equal(shelf.text, `{"virtual_hosts":{"x":${OTHER},"y":${HOST}}}`);
    t.equal(shelf.publish(t, { y: HOST }), 'changed');
    t.equal(shelf.publish(t, {}), 'changed');
    t.equal(shelf.config, undefined);
    t.equal(shelf.record, undefined);
  }
});

t.test('existing virtual hosts stay, also after ours are removed', async (t) => {
  const foreign = '{ "virtual_hosts" : {"f":{"backends":{}, "n":1.0}} }';
  const shelf = new Shelf(foreign);
  shelf.publish(t, { x: HOST });
  t.equal(shelf.text, `{ "virtual_hosts" : {"f":{"backends":{}, "n":1.0},"x":${HOST}} }`);
  shelf.publish(t, {});
  t.equal(shelf.text, foreign);

  const empty = new Shelf('{"virtual_hosts":{}}');
  empty.publish(t, { x: HOST });
  empty.publish(t, {});
  t.equal(empty.text, '{"virtual_hosts":{}}', 'an empty config that somebody wrote is a config');
});

t.test('a config that the control plane created and somebody else changed is not removed', async (t) => {
  const shelf = new Shelf();
  shelf.publish(t, { x: HOST });
  shelf.write(`{"virtual_hosts":{"x":${HOST},"f":${OTHER}}}`);
  shelf.publish(t, {});
  t.equal(shelf.text, `{"virtual_hosts":{"f":${OTHER}}}`);
});

t.test('virtual hosts that the store lost or somebody changed are restored', async (t) => {
  const shelf = new Shelf();
  shelf.publish(t, { x: HOST, y: HOST });
  shelf.write(undefined);
  t.equal(shelf.publish(t, { x: HOST, y: HOST }), 'changed', 'the config is gone');
  t.equal(shelf.text, `{"virtual_hosts":{"x":${HOST},"y":${HOST}}}`);
  shelf.write(`{"virtual_hosts":{"f":${OTHER}}}`);
  t.equal(shelf.publish(t, { x: HOST, y: HOST }), 'changed', 'somebody wrote a config of their own');
  t.equal(shelf.text, `{"virtual_hosts":{"f":${OTHER},"x":${HOST},"y":${HOST}}}`);
  shelf.write(`{"virtual_hosts":{"x":${OTHER},"y":${HOST}}}`);
  t.equal(shelf.publish(t, { x: HOST, y: HOST }), 'changed', 'somebody changed ours');
  t.equal(shelf.text, `{"virtual_hosts":{"y":${HOST},"x":${HOST}}}`);
  shelf.write(`{"virtual_hosts":{"x":${HOST},"y":${HOST},"x":${OTHER}}}`);
  t.equal(shelf.publish(t, { x: HOST, y: HOST }), 'changed', 'one that is there twice');
  t.equal(shelf.text, `{"virtual_hosts":{"y":${HOST},"x":${HOST}}}`);
  shelf.write('{"virtual_hosts":{ "y":{"backends" : {}},\n "x":{"backends":{}} }}');
  t.equal(shelf.publish(t, { x: HOST, y: HOST }), 'nothing', 'the same in other bytes is the same');
});

t.test('virtual hosts that are no longer wanted may be gone already', async (t) => {
  const shelf = new Shelf();
  shelf.publish(t, { x: HOST });
  const foreign = `{"virtual_hosts":{ "f" : ${OTHER} }}`;
  shelf.write(foreign);
  t.equal(shelf.publish(t, {}), 'changed');
  t.equal(shelf.text, foreign);
  t.equal(shelf.record, undefined);
});

t.test('a virtual host does not count as the control plane’s by its id alone', async (t) => {
  const foreign = `{"virtual_hosts":{"x":${OTHER}}}`;
  const shelf = new Shelf(foreign);
  t.equal(shelf.publish(t, {}), 'nothing');
  t.match(shelf.publish(t, { x: HOST }), /virtual host x that the control plane did not publish/);
  t.equal(shelf.text, foreign);
  t.equal(shelf.record, undefined);
});

t.test('a config whose record is damaged is left alone, and published anew once it is deleted', async (t) => {
  const shelf = new Shelf();
  shelf.publish(t, { x: HOST });
  const published = shelf.text;
  shelf.record = Buffer.from('{"virtualHosts":{}}');
  for (const wanted of [{ x: OTHER }, {}]) t.match(shelf.publish(t, wanted), /is damaged: delete the user config/);
  t.equal(shelf.text, published);
  shelf.write(undefined);
  t.equal(shelf.publish(t, { x: OTHER }), 'changed');
  t.equal(shelf.text, `{"virtual_hosts":{"x":${OTHER}}}`);
  t.equal(shelf.publish(t, { x: OTHER }), 'nothing');
});

t.test('a config that cannot be added to is left alone', async (t) => {
  const broken = '{"virtual_hosts":{"f":{"backends":{"a":{"url":"secret"}}}}}';
  const shelf = new Shelf(broken);
  const reason = shelf.publish(t, { x: HOST });
  t.match(reason, /cannot be decoded: virtual_hosts\.f\.backends\.a\.url/);
  t.notMatch(reason, /secret/);
  t.equal(shelf.text, broken);

  const full = new Shelf(`{"virtual_hosts":{},"pad":"${'x'.repeat(limits.userConfigBytesMax - 31)}"}`);
  t.match(full.publish(t, { x: HOST }), /would be larger than/);
  t.equal(full.record, undefined);
});
