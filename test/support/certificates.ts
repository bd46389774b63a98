// A certificate authority for one test, with a server certificate for this machine and a client certificate.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { createScratchDirectory } from './scratch-directory.js';

/** PEM, as files and as text. */
export interface Certificate {
  readonly certificatePath: string;
  readonly certificate: string;
  readonly privateKeyPath: string;
  readonly privateKey: string;
}

export interface Certificates {
  readonly authority: Certificate;
  /** Issued by the authority to this machine, unless the test names other hosts. */
  readonly server: Certificate;
  /** Issued by the authority. */
  readonly client: Certificate;
}

const DAYS = '2';
const THIS_MACHINE = 'DNS:localhost,IP:127.0.0.1,IP:::1';

/**
 * Each call creates another authority, which does not trust what the earlier ones issued.
 * @param serverNames an OpenSSL `subjectAltName`
 */
export function createCertificates(t: Pick<Test, 'teardown'>, serverNames = THIS_MACHINE): Certificates {
  const directory = createScratchDirectory(t);
  const openssl = (...words: string[]): void => {
    execFileSync('openssl', words, { cwd: directory, stdio: 'pipe' });
  };
  const requestOf = (name: string): string[] => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`];
    return ['req', ...key, '-subj', `/CN=switchyard test ${name}`];
  };
  const issue = (name: string, extensions: string): void => {
    writeFileSync(join(directory, `${name}.extensions`), extensions);
    openssl(...requestOf(name), '-new', '-out', `${name}.csr`);
    const signer = ['-CA', 'authority.pem', '-CAkey', 'authority.key', '-CAcreateserial'];
    const shape = ['-extfile', `${name}.extensions`, '-days', DAYS, '-out', `${name}.pem`];
    openssl('x509', '-req', '-in', `${name}.csr`, ...signer, ...shape);
  };
  openssl(...requestOf('authority'), '-x509', '-days', DAYS, '-out', 'authority.pem');
  issue('server', `subjectAltName=${serverNames}\nextendedKeyUsage=serverAuth\n`);
  issue('client', 'extendedKeyUsage=clientAuth\n');
  const read = (name: string): Certificate => {
    const certificatePath = join(directory, `${name}.pem`);
    const privateKeyPath = join(directory, `${name}.key`);
    return {
      certificatePath,
      certificate: readFileSync(certificatePath, 'utf8'),
      privateKeyPath,
      privateKey: readFileSync(privateKeyPath, 'utf8'),
    };
  };
  return { authority: read('authority'), server: read('server'), client: read('client') };
}
