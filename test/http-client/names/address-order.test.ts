import t from 'tap';
import { orderAddresses } from '../../../src/http-client/names/name-query.js';

const ADDRESSES = Array.from({ length: 8 }, (_, index) => `192.0.2.${index}`);

t.test('addresses alternate between the families, IPv6 first, without duplicates', async (t) => {
  const ordered = orderAddresses(['192.0.2.1', '192.0.2.2', '192.0.2.3', '2001:db8::1', '192.0.2.1']);
  t.equal(ordered.length, 4);
  t.equal(ordered[0], '2001:db8::1');
  t.same(orderAddresses([]), []);
});

t.test('the order of addresses does not depend on their order in the response, nor on the others', async (t) => {
  const ordered = orderAddresses(ADDRESSES);
  t.same(orderAddresses([...ADDRESSES].reverse()), ordered);
  for (const gone of ADDRESSES) {
    t.same(
      orderAddresses(ADDRESSES.filter((address) => address !== gone)),
      ordered.filter((address) => address !== gone),
    );
  }
});

t.test('different processes try different addresses first', async (t) => {
  const firsts = Array.from({ length: 64 }, (_, seed) => orderAddresses(ADDRESSES, Buffer.from([seed]))[0]);
  t.ok(new Set(firsts).size >= ADDRESSES.length / 2, `${new Set(firsts).size} different`);
});
