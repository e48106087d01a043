/**
 * `Temporal` where Node does not have it: native from 26 on, by a library on 24. Entries import
 * this before any time is computed; not awaited, so that the package can be required too.
 */
import { createRequire } from 'node:module'

if (!('Temporal' in globalThis)) createRequire(import.meta.url)('temporal-polyfill/global')
