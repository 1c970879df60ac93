/** `pawl answer`: the questions that wait in a session, and their answers, from any terminal. */
import { openSession, PawlError, type PendingApproval, type Session } from "@pawl/core";
import { addressOf } from "./address.ts";
import { proposedGrant } from "./grant.ts";
import { commandLine } from "./next-command.ts";
import { asked } from "./question.ts";
import { moment, printable, toned } from "./style.ts";
import { type VisitOptions, visitStore } from "./visit.ts";
import { callWords } from "./words.ts";

export interface AnswerCommandOptions extends VisitOptions {
  question?: number;
  reason?: string;
}

const words = ["yes", "no", "always"] as const;
type Word = (typeof words)[number];

/** 0: answered, or shown. Fails with INVALID_INPUT where nothing is asked, or it is not clear which is meant. */
export function answerQuestion(id: string, said: string | undefined, options: AnswerCommandOptions): Promise<number> {
  const word = wordOf(said, options);
  return visitStore(options, async (runtime) => {
    const session = await openSession(runtime, await addressOf(runtime, id));
    const questions = await session.pendingApprovals();
    if (word === undefined) return show(session.id, questions, options);
    const question = chosen(session.id, questions, options.question);
    await give(session, question, word, options.reason);
    const about = callWords(question.tool, question.input, 100);
    if (options.json)
      process.stdout.write(
        `${JSON.stringify({ ok: true, session: session.id, answered: question.approval, answer: word })}\n`,
      );
    else process.stdout.write(`${word}: ${printable(about)}\n`);
    return 0;
  });
}

function wordOf(said: string | undefined, { reason }: AnswerCommandOptions): Word | undefined {
  const word = words.find((each) => each === said || each[0] === said);
  if (said !== undefined && word === undefined)
    throw new PawlError("INVALID_INPUT", `${JSON.stringify(said)} is no answer; write one of ${words.join(", ")}`);
  if (reason !== undefined && word !== "no")
    throw new PawlError("INVALID_INPUT", "--reason is told with a no; leave it out, or answer no");
  return word;
}

function chosen(session: string, questions: readonly PendingApproval[], number: number | undefined): PendingApproval {
  const at = number ?? (questions.length === 1 ? 1 : undefined);
  if (questions.length === 0) throw new PawlError("INVALID_INPUT", `session ${session} asks nothing now`);
  if (at === undefined)
    throw new PawlError(
      "INVALID_INPUT",
      `session ${session} asks ${questions.length} things; say which with --question N`,
    );
  const question = questions[at - 1];
  if (question) return question;
  throw new PawlError("INVALID_INPUT", `--question ${at}: session ${session} asks ${questions.length}, from 1 on`);
}

/** The digest goes along: a call that has changed since it was shown is not answered by it. */
async function give(
  session: Session,
  question: PendingApproval,
  word: Word,
  reason: string | undefined,
): Promise<void> {
  const { approval, digest } = question;
  const { input } = word === "always" ? proposedGrant(plain(question)) : {};
  await session.answer(approval, word === "no" ? "deny" : "allow", {
    by: "terminal",
    digest,
    ...(word === "always" ? { scope: "session", ...(input ? { input } : {}) } : {}),
    ...(reason === undefined ? {} : { reason: `a person denied this call: ${reason}` }),
  });
}

function show(session: string, questions: readonly PendingApproval[], { json, store }: AnswerCommandOptions): number {
  const { stdout } = process;
  for (const [at, question] of questions.entries()) {
    if (json) {
      stdout.write(`${JSON.stringify({ session, question: at + 1, ...question })}\n`);
      continue;
    }
    const always = printable(proposedGrant(plain(question)).words);
    stdout.write(
      `${toned("quiet", `${at + 1}, asked ${moment(question.askedAt)}`, stdout)}\n${asked(plain(question))}`,
    );
    stdout.write(`${toned("quiet", `  always would mean: ${always}`, stdout)}\n`);
  }
  if (json) return 0;
  const command = commandLine(["answer", session, "yes"], [["--store", store]]);
  stdout.write(
    `${toned("quiet", questions.length === 0 ? "nothing is asked now" : `To answer: ${command} (or no, always)`, stdout)}\n`,
  );
  return 0;
}

/** As it was asked. Of the log only the text of the input is known. */
function plain({ call, tool, input }: PendingApproval) {
  let parsed: unknown = input;
  try {
    parsed = JSON.parse(input);
  } catch {
    // Shown as it is.
  }
  return { call, tool, input: parsed, effect: "write" as const };
}
