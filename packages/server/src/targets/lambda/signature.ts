/**
 * AWS Signature Version 4 of one request, in its headers. What must stay true: what is signed is what is sent, byte for byte;
 * so the caller sends exactly the path, headers and body that it gave here. Query strings are left out: no request here has one.
 */
import { createHash, createHmac } from 'node:crypto'

export interface AwsKeys {
  accessKeyId: string
  secretAccessKey: string
  /** Of temporary credentials. */
  sessionToken?: string
}

export interface RequestToSign {
  method: string
  host: string
  /** As it is sent. */
  path: string
  /** Besides those of the signature; all are signed. Names in lower case. */
  headers: Record<string, string>
  body: string
  region: string
  service: string
  now: Date
}

const algorithm = 'AWS4-HMAC-SHA256'

/** The headers to send: those given and those of the signature. `host` is among them. */
export function signRequest(request: RequestToSign, keys: AwsKeys): Record<string, string> {
  const time = request.now.toISOString().replace(/[-:]|\.\d{3}/g, '')
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.host,
    'x-amz-date': time,
    ...(keys.sessionToken !== undefined && { 'x-amz-security-token': keys.sessionToken }),
  }
  const names = Object.keys(headers).sort()
  const signedHeaders = names.join(';')
  const canonical = [
    request.method,
    canonicalPath(request.path),
    '',
    ...names.map((name) => `${name}:${headers[name]!.trim().replace(/ +/g, ' ')}`),
    '',
    signedHeaders,
    hashOf(request.body),
  ].join('\n')
  const { region, service } = request
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`
  const key = scope.split('/').reduce<string | Buffer>((key, part) => hmac(key, part), `AWS4${keys.secretAccessKey}`)
  const signature = hmac(key, [algorithm, time, scope, hashOf(canonical)].join('\n')).toString('hex')
  const credential = `${keys.accessKeyId}/${scope}`
  return {
    ...headers,
    authorization: `${algorithm} Credential=${credential}, SignedHeaders=${signedHeaders}, Signature=${signature}`,
  }
}

/** Encoded once more than what is sent, as all services but S3 want it: `%3A` becomes `%253A`. */
function canonicalPath(path: string): string {
  return path
    .split('/')
    .map((segment) => encodeStrictly(segment))
    .join('/')
}

/** RFC 3986: all but letters, digits and `-._~`. */
export function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
