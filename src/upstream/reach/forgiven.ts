// What readers of backends' answers forgive, as official clients do, and why nobody can be mixed up by it. Counted by origin, so that an
// operator knows which server to complain about. Whatever two readers could take for two different messages is not here: it is refused.

export const FORGIVEN = {
  heartbeat: 'an event that is no JSON-RPC message: skipped, since it cannot be the answer',
  status: 'a success status other than 200: the answer is known by its id',
  'id-as-text':
    'a number of the request, its id or progress token, as a string: ' +
    "nothing else is in flight on the request's own response",
  array:
    'an array around the one message of a JSON body: as in a batch of 2025-03-26; more than one message is refused',
  'byte-order-mark': 'a byte order mark before JSON: readers may ignore it (RFC 8259, 8.1)',
  redirect:
    'another path of the same origin (307, 308): followed once, since the request was not carried out, and remembered; for GET, DELETE and notifications too',
  'list-item':
    'of a listed item: a missing schema of arguments, a schema that is not said to be of an object, a missing name of a resource, ' +
    '`null`, an empty list for a map or the other way round, an argument whose schema is `true`, and a schema of results that ' +
    'cannot be compiled: a reference to nowhere, a pattern that is none in ECMAScript, an unknown type: ' +
    'listed as what is meant, or left out, since clients would refuse the items of all backends',
} as const;

export type Forgiven = keyof typeof FORGIVEN;
