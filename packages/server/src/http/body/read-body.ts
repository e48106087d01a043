/** Reads the body of a request: refused while it arrives if it is too much, then parsed. */
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { CarillonError } from '@carillon/contract'
import { keepTexts, parseInPieces, smallLength } from './parse.ts'
import { type BodyBounds, BodyScanner } from './scanner.ts'

export interface ReadBody {
  /** As it came; empty if there was none. */
  text: string
  value: unknown
}

/** Throws what is wrong with it; BODY_MALFORMED if it is not JSON in UTF-8. `opaque`: see keepTexts. */
export async function readBody(stream: Readable, bounds: BodyBounds, opaque: readonly string[]): Promise<ReadBody> {
  const scanner = new BodyScanner(bounds)
  const bytes = await collect(stream, scanner)
  if (bytes.length === 0) return { text: '', value: undefined }
  if (!isUtf8(bytes)) throw malformed('the body is not UTF-8', 'Send JSON in UTF-8')
  const text = bytes.toString()
  try {
    const value: unknown = text.length < smallLength ? JSON.parse(text) : await parseInPieces(text)
    if (!scanner.numbersKept) await keepTexts(text, value, opaque)
    return { text, value }
  } catch (error) {
    throw malformed((error as Error).message, 'Send JSON')
  }
}

function collect(stream: Readable, scanner: BodyScanner): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const settle = () => stream.off('data', onData).off('end', onEnd).off('error', onError)
    const onData = (chunk: Buffer) => {
      try {
        scanner.push(chunk)
        chunks.push(chunk)
      } catch (error) {
        settle()
        // Drain the rest, so that the client gets to read the answer.
        stream.on('error', () => {}).resume()
        reject(error)
      }
    }
    const onEnd = () => {
      settle()
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    }
    const onError = (error: Error) => {
      settle()
      reject(error)
    }
    stream.on('data', onData).on('end', onEnd).on('error', onError)
  })
}

function malformed(message: string, hint: string): CarillonError {
  return new CarillonError('BODY_MALFORMED', { message, hint })
}
