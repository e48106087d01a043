/**
 * Work that is an HTTP request: Carillon calls a URL, signs the request, retries what may be retried. Here the URL is a small
 * server in this program; a real one is somewhere else, and addresses like 127.0.0.1 are refused unless allowed.
 *
 *   npx node examples/http-target/main.ts
 *
 * DATABASE_URL names a PostgreSQL; without it one is started in ./data/http-target.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createClient, verifyWebhook } from '@carillon/sdk'
import { serve } from '@carillon/server'

process.env.CARILLON_SECRET_HOOK ??= 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const secrets = [process.env.CARILLON_SECRET_HOOK]

const receiver = createServer(async (request, response) => {
  const body = await text(request)
  verifyWebhook({ secrets, headers: request.headers, body })
  console.log(`called for ${request.headers['carillon-execution-id']}, fence ${request.headers['carillon-fence']}`)
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ got: JSON.parse(body) }))
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`

const where = process.env.DATABASE_URL ? { databaseUrl: process.env.DATABASE_URL } : { dataDir: './data/http-target' }
const node = await serve({
  ...where,
  port: 0,
  logLevel: 'warn',
  targets: { allow: ['127.0.0.1'], secrets: ['env:CARILLON_SECRET_*'] },
})
const client = createClient({ urls: node.url })
const { jobId } = await client.call('createJob', {
  body: {
    type: 'ONE_SHOT',
    target: { http: { url, signWith: [{ secretRef: 'env:CARILLON_SECRET_HOOK' }] } },
    payload: { hello: 'world' },
  },
})
console.log('result', await client.handle(jobId).result({ waitMs: 30_000 }))

await client.close()
await node.stop()
receiver.close()
