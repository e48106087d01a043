export * from './defaults.ts'
export * from './errors.ts'
export * from './job.ts'
export * from './words.ts'
