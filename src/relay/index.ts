export { type RelayOptions, shareTable } from './relay-options.js';
export { Relay } from './relay.js';
