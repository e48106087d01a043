/**
 * A local endpoint of Lambda that checks signatures by itself, from AWS's specification and with none of our code: it reads the
 * request as it arrived, and refuses as AWS does. What the function answers is up to the test.
 */
import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Invoked {
  functionArn: string
  headers: IncomingMessage['headers']
  body: string
  /** The client context, decoded. */
  context: { custom: Record<string, string> }
}

export interface LambdaEndpoint extends AsyncDisposable {
  url: string
  invoked: Invoked[]
}

/** `secrets`: secret access keys by access key id. */
export async function lambdaEndpoint(
  secrets: Record<string, string>,
  answer: (invoked: Invoked, response: ServerResponse) => void,
): Promise<LambdaEndpoint> {
  const invoked: Invoked[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const problem = signatureProblem(request, body, secrets)
    if (problem !== null) {
      response.writeHead(403, { 'x-amzn-errortype': 'InvalidSignatureException' })
      return response.end(JSON.stringify({ message: problem }))
    }
    const [, encoded] = /^\/2015-03-31\/functions\/([^/?]+)\/invocations$/.exec(request.url!) ?? []
    const context = Buffer.from(`${request.headers['x-amz-client-context']}`, 'base64').toString()
    const one = {
      ...{ functionArn: decodeURIComponent(encoded!), headers: request.headers, body },
      context: JSON.parse(context),
    }
    invoked.push(one)
    answer(one, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    invoked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Null, or what is wrong; like AWS's, it quotes what should have been signed. */
function signatureProblem(request: IncomingMessage, body: string, secrets: Record<string, string>): string | null {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/
  const [matched, id, day, region, service, signedHeaders, signature] =
    form.exec(`${request.headers.authorization}`) ?? []
  if (matched === undefined) return 'no signature'
  const secret = secrets[id!]
  if (secret === undefined || service !== 'lambda') return 'unknown key or service'
  const names = signedHeaders!.split(';')
  const required = Object.keys(request.headers).filter((name) => name === 'host' || name.startsWith('x-amz-'))
  if (required.some((name) => !names.includes(name))) return 'a header is not signed'
  const date = `${request.headers['x-amz-date']}`
  if (!date.startsWith(day!)) return 'the date is not that of the scope'
  const [path, query = ''] = request.url!.split('?')
  let canonical = `POST\n${path!.replaceAll('%', '%25')}\n${query}\n`
  for (const name of names) canonical += `${name}:${request.headers[name]}\n`
  canonical += `\n${signedHeaders}\n${createHash('sha256').update(body, 'utf8').digest('hex')}`
  const hash = createHash('sha256').update(canonical).digest('hex')
  const sign = (key: Buffer | string, data: string) => createHmac('sha256', key).update(data).digest()
  const dated = sign(sign(sign(sign(`AWS4${secret}`, day!), region!), service), 'aws4_request')
  const toSign = `AWS4-HMAC-SHA256\n${date}\n${day}/${region}/${service}/aws4_request\n${hash}`
  if (sign(dated, toSign).toString('hex') === signature) return null
  return `The signature does not match. The canonical string should have been '${canonical}'`
}
