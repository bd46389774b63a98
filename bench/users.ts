// The callers of a bench: each has a subject and a token of its own, signed with one key created for the run.
import { randomUUID } from 'node:crypto';
import { exportSPKI, generateKeyPair, SignJWT } from 'jose';

export interface User {
  readonly subject: string;
  /** About 600 characters: RS256 with the usual claims. */
  readonly token: string;
}

export interface Users {
  /** PEM, SPKI. */
  readonly publicKey: string;
  readonly list: readonly User[];
}

export async function createUsers(count: number): Promise<Users> {
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const list: User[] = [];
  for (let number = 0; number < count; number += 1) {
    const subject = `user-${String(number).padStart(4, '0')}@bench.example`;
    const claims = new SignJWT({})
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
      .setSubject(subject)
      .setIssuer('mcpgateway')
      .setAudience('mcpgateway-api')
      .setIssuedAt()
      .setExpirationTime('12h')
      .setJti(randomUUID());
    list.push({ subject, token: await claims.sign(privateKey) });
  }
  return { publicKey: await exportSPKI(publicKey), list };
}
