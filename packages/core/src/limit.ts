/** A bound on everything, with its unit in its name and its reason beside it. */
export const limit = {
  /** Ids travel through file names, URLs and provider fields; 64 is the strictest common bound. */
  idChars: 64,
  /** One record. A larger payload belongs into a blob; SQLite and PostgreSQL both slow down far below this. */
  recordBytes: 16 * 1024 * 1024,
  /** What others hand over becomes part of a record: room for what stands around it. */
  postBytes: 16 * 1024 * 1024 - 64 * 1024,
  /** One answer: three bytes a character are the most that UTF-8 takes, and it has to fit into one record. */
  messageChars: 5_000_000,
  /** A body that took its process down with it so often is not entered again. */
  runsPerCall: 3,
  /** Lists and objects inside one another: no tool means more, and threads cannot hand over what is much deeper. */
  jsonDepth: 500,
  /** One atomic batch: a message with its calls and results fits many times over. */
  batchRecords: 1_000,
  /** `setTimeout` fires at once above 2^31-1 ms. */
  timerMs: 2_147_483_647,
  /** Characters of JSON text a token, on the low side for code and prose alike: better too early, and too much on the bill. */
  charsPerToken: 3.5,
  /** A page of records read at once. */
  pageRecords: 1_000,
  /** Tool bodies that run at the same time in one session. */
  concurrentTools: 8,
  /** Steps of one turn. A person can raise it; a loop that nobody watches ends. */
  stepsPerTurn: 200,
  /** Physical requests of one step, sealed and discarded ones included. */
  attemptsPerStep: 6,
  /** And of one turn: each of its steps needs one, and half as many again may be lost on the way. */
  attemptsPerTurn: 300,
  /** Answers of one step that deliver nothing: one is tried again as it is, the second with a word that asks for one. */
  emptiesPerStep: 3,
  /** Sealed fragments of one step: a model that only thinks and breaks is not cured by a third try. */
  sealsPerStep: 2,
  /** The cap on what one tool result brings into context, in UTF-16 units; the rest is cut with a note. */
  toolOutputChars: 60_000,
  /** And what all results of one message bring together: about 50,000 tokens, which a window of 128,000 has room for. */
  batchOutputChars: 200_000,
  /** A pattern of a permission rule: it is matched against what a model wrote, in time proportional to both. */
  patternChars: 1_000,
  /** Images that one message's results may show, and the size of one: endpoints refuse more, or larger ones. */
  batchImages: 20,
  imageBytes: 3.75 * 1024 * 1024,
  /** Of an output that is cut, what is kept beside the log; and one file that a body returns. */
  spillBytes: 64 * 1024 * 1024,
  blobBytes: 64 * 1024 * 1024,
  /** A tool body that says nothing about time. Long builds fit; a hung body ends within a coffee break. */
  toolTimeoutMs: 10 * 60_000,
  /** How long a body may take to listen to its signal before it is abandoned. */
  toolGraceMs: 5_000,
  /** The driver's lease. Renewed at a third of it; a dead holder on this machine is noticed at once. */
  leaseMs: 15_000,
  /** How long a driver waits for space on a full disk: somebody notices within an hour, or nobody watches. */
  pauseMs: 60 * 60_000,
  /** The snapshot of a workspace before a step: a first one of a large tree takes seconds, a hung one must not hold a turn. */
  snapshotMs: 60_000,
  /** A snapshot that takes longer does not keep the message that it is taken for from the log. */
  snapshotPatienceMs: 1_000,
  /** The partial journal writes at most this often, or this much: the bounded loss of a crash. */
  partialMs: 250,
  partialChars: 4_096,
  /** How often a watcher looks into it: while words come, and while none do. */
  watchMs: 100,
  watchQuietMs: 500,
  /** Each look reads all of it: a long answer is looked at more rarely, about a megabyte a second. */
  watchCharsPerMs: 1_000,
} as const;
