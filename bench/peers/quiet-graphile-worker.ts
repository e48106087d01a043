/** A line for every job is not wanted, and its own benchmark does without too. Read when the library is loaded. */
process.env.NO_LOG_SUCCESS = '1'
