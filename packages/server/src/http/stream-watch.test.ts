import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { CarillonError } from '@carillon/contract'
import { afterEach, expect, it } from 'vitest'
import { type StreamWatch, watchStream } from './stream-watch.ts'

let server: Server
let client: Socket

afterEach(() => {
  client.destroy()
  server.close()
})

/** A stream that is open, to a client that reads or does not. */
async function open(watch: Partial<StreamWatch>): Promise<ServerResponse> {
  const { promise: opened, resolve } = Promise.withResolvers<ServerResponse>()
  server = createServer((_, response) => {
    response.write('begin')
    watchStream(response, { mayGoOn: async () => {}, end: () => {}, everyMs: 10, stalledMs: 50, ...watch })
    resolve(response)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(client, 'data')
  return opened
}

it('disconnects a client that reads nothing', async () => {
  const response = await open({})
  client.pause()
  response.write('x'.repeat(64 * 1024 * 1024))
  await once(response, 'close')
  expect(response.writableFinished).toBe(false)
})

it('keeps a client that reads everything, also when there is nothing for long', async () => {
  let looks = 0
  const response = await open({
    mayGoOn: async () => {
      looks++
      if (looks === 20) response.end()
    },
  })
  client.resume()
  await once(response, 'close')
  expect(response.writableFinished).toBe(true)
})

it('ends the stream of a caller who may not have it any longer; that it cannot be known is no refusal', async () => {
  const answers = [new CarillonError('UNAVAILABLE', 'no database'), new CarillonError('UNAUTHENTICATED', 'expired')]
  const response = await open({
    mayGoOn: () => Promise.reject(answers.shift() ?? answers),
    end: () => response.end(),
  })
  client.resume()
  await once(response, 'close')
  expect({ left: answers.length, finished: response.writableFinished }).toEqual({ left: 0, finished: true })
})

it('does not watch a stream whose client has left before it began', async () => {
  const response = await open({})
  client.destroy()
  await once(response, 'close')
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  watchStream(response, { mayGoOn: async () => {}, end: () => {} })
  expect(timers()).toBe(before)
})
