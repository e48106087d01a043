/** The version of this package. */
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

export const serverVersion: string = JSON.parse(readFileSync(findPackageJSON('.', import.meta.url)!, 'utf8')).version
