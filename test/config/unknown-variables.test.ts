import t from 'tap';
import { dataplaneOptions } from '../../src/config/dataplane-options.js';
import { optionLoader } from './option-loader.js';

const { faults } = optionLoader('dataplane', dataplaneOptions);

t.test('an unknown variable with the prefix is a fault, like an unknown option', async (t) => {
  const environment = { SWITCHYARD_REDIS_ADRESS: 'hunter2', SWITCHYARD_BANANA: 'hunter2', SWITCHYARD_LOG_LEVEL: 'x' };
  const told = faults(['--no-such'], environment);
  t.match(told, [
    /^--no-such: unknown option/,
    'SWITCHYARD_REDIS_ADRESS: no option reads it; correct it to SWITCHYARD_REDIS_ADDRESS, or remove it',
    'SWITCHYARD_BANANA: no option reads it; remove it',
    /^--log-level/,
  ]);
  t.notMatch(told.join(), 'hunter2', 'a value may be a secret');
});

t.test('variables that any command reads, empty ones and those of others are left alone', async (t) => {
  const environment = {
    SWITCHYARD_TOKEN: 'x',
    SWITCHYARD_RATE_LIMIT: '7',
    SWITCHYARD_ADDRESS: '127.0.0.1:1',
    SWITCHYARD_SUBJECT: 'alice',
    SWITCHYARD_EXPOSURE: 'none',
    SWITCHYARD_LOGLEVEL: '',
    SWITCHYARD: 'x',
    OTHER_SWITCHYARD_THING: 'x',
  };
  t.same(faults([], environment), []);
});

t.test('variables that Kubernetes sets for services named after the program are no fault', async (t) => {
  const environment = {
    SWITCHYARD_SERVICE_HOST: '10.0.0.1',
    SWITCHYARD_SERVICE_PORT: '8001',
    SWITCHYARD_SERVICE_PORT_HTTP: '8001',
    SWITCHYARD_PORT: 'tcp://10.0.0.1:8001',
    SWITCHYARD_PORT_8001_TCP: 'tcp://10.0.0.1:8001',
    SWITCHYARD_PORT_8001_TCP_ADDR: '10.0.0.1',
    SWITCHYARD_CONTROL_PLANE_SERVICE_HOST: '10.0.0.2',
  };
  t.same(faults([], environment), []);
  t.match(faults([], { SWITCHYARD_PORT: '8001' }), [/^SWITCHYARD_PORT: /], 'a port is meant for us');
});
