//! What sentences aimed at a model look like, by rule. Each pattern is a way to say something, never a sentence met
//! somewhere: it must hold for paraphrases and for other subjects.

use crate::event::Severity;

/// Patterns of one rule with one grade.
pub(crate) struct Phrases {
    pub(crate) rule: &'static str,
    pub(crate) severity: Severity,
    /// A negation just before the first word takes the sense away.
    pub(crate) negatable: bool,
    pub(crate) patterns: &'static [&'static str],
}

const fn strong(rule: &'static str, negatable: bool, patterns: &'static [&'static str]) -> Phrases {
    Phrases {
        rule,
        severity: Severity::High,
        negatable,
        patterns,
    }
}

const fn weak(rule: &'static str, negatable: bool, patterns: &'static [&'static str]) -> Phrases {
    Phrases {
        rule,
        severity: Severity::Medium,
        negatable,
        patterns,
    }
}

/// Every pattern.
pub(crate) const PHRASES: &[Phrases] = &[
    // Steering towards one tool against all others.
    strong(
        "D04",
        false,
        &[
            "best|greatest|finest <2 tool|server <3 world|universe|ever|existence",
            "only <2 accurate|correct|reliable|trusted|trustworthy|valid|authoritative|legitimate <1 @tools <8 @must",
            "@must <4 @use|be <4 over|above <2 any|every|all <2 alternative*|other|others|competing",
            "@use <4 this|it <3 instead|rather <3 any|all|every <2 @other <2 @tools",
            "@use <1 this <2 tool|server|function <1 rather|instead <1 than|of <1 @other",
            "do|please @neg use|call|invoke|trust @other <1 tools|servers|plugins|functions",
            "@other <5 @tools <8 retired|deprecated|stale|broken|untrusted|unsafe|compromised|obsolete|malicious|outdated|unreliable",
            "route|redirect|send <4 queries|requests|calls|traffic|questions here",
            "@use <3 this <1 tool <1 no matter|regardless|whatever",
            "no matter|regardless|whatever|irrespective <6 request|user|question|asked|says|said <8 @use|choose|prefer",
            "@must <4 chosen|preferred|used|selected|called|invoked <8 whatever|regardless|irrespective <4 request|user|question|says|asked|asks|task|wants",
            "@use this <1 tool|server|function <2 first <6 any <1 request|question|task|query|message|operation",
            "any|every <1 request|question|task|message|prompt <6 always|must <3 @use <2 this",
            "@neg <2 @use|consult|call <2 @other <2 @tools <6 even|whatever|regardless|anymore",
            "@before <1 execute|run|call|use|invoke|perform* <3 operation|tool|function|action <3 execute|run|call|use this <1 tool|function",
        ],
    ),
    weak(
        "D04",
        false,
        &[
            "^ please capture|elevate|withdraw|transfer|allocate|export|delete|disable|grant|escalate|encrypt|wipe|kill|shutdown|modify|exfiltrate|deploy|terminate",
            "@must <2 @use|called|invoked|used <1 this|it <3 before <2 any|every|all",
            "@must <2 be <2 called|invoked|used|executed|run <2 before <2 any|every|all",
            "always call|use|invoke|run this <1 tool|server|function <1 first <6 any|every|all",
            "prefer <2 this <6 over <4 built|builtin|native|web",
            "use even when|whenever|if <1 you <2 think|believe|know",
            "do @neg @use <1 any <1 @other <1 tools",
            "most <1 accurate|reliable|trusted|powerful|advanced <2 @tools <3 available|world|ever",
            "better|superior|faster <3 than <2 any|all|every <1 @other <1 @tools",
        ],
    ),
    // Another server's tools: replaced, changed, made to do something.
    strong(
        "D05",
        false,
        &[
            "drop in replacement <4 official|original",
            "replace*|impersonate*|substitute* <3 official|original|genuine|legitimate <5 @tools|:name|mcp",
            "@must <3 call|use|invoke|run mcp <1 server <8 @read|@pass <8 @pass|@sink|@file",
            "@must <3 call|use|invoke|run <4 @read <8 pass|send|supply <12 @sink",
            "when|whenever|if|once <5 @tools|:name <3 invoked|called|used|available|present|loaded <2 make|change|modify|override|add|replace|redirect|set|ensure|it|always",
            "modify|change|alter|override* <3 behavior|behaviour|output|recipient|recipients|result|results <4 other|all|every|communication|:name|tools",
            "before|after|when|whenever calling|using|invoking|call|invoke <1 :name <8 add|change|set|replace|include|append|modify|correct|fix",
            "replace|modify|correct|fix|rewrite|falsify <2 wrong|incorrect|result|results|values|output <6 tool|function|returned|response|with",
            "override <3 recipient*|destination|address*",
            "change <3 recipient|destination|address|number <3 to :email|:number|:url",
            "proxy|proxying <3 issue*|reasons|number",
        ],
    ),
    // Secrets.
    strong(
        "D06",
        true,
        &[
            "@order <14 @read|@pass <6 :secret",
            "@read|@pass <5 :secret <14 @pass|@order|returning",
            "@read <6 :secret <10 @sink",
            "@order <12 @read|@pass <5 @private <10 @sink",
            "@read|@pass <5 @private <5 @file <8 @pass <6 @sink",
            "@pass <5 @private <4 in|as|into|within|via|through|with <4 @sink",
            "@must <4 call|access|read|use <4 secrets|credentials|:secret",
            "call|invoke|run|@use get_secrets|get_credentials|read_secrets|dump_secrets",
            "@read <6 files|file|folder|directory <6 @private <10 @pass",
            "include <3 master|admin|root|database <1 password|credentials|token|secret",
        ],
    ),
    weak(
        "D06",
        true,
        &[
            "@read|@pass <3 :secret",
            "capture|steal|harvest|exfiltrate|secure <3 @private",
            "extract*|log*|record*|captur*|collect* <8 passwords|credentials|cards",
        ],
    ),
    // Where data goes.
    strong(
        "D07",
        true,
        &[
            "always|must|remember|please|also|additionally|silently <3 bcc|cc <6 :email",
            "bcc <6 :email",
            "@order <10 @send|copy|include <8 :email|:number <12 @neg|compliance|audit|user|customer|always|@file",
            "let <2 :email <3 know|see|have",
            "@send|@pass <4 copy|copies|everything|all|@talk|@file|answer|result|results|data|balance|messages <8 :email|:number",
            "always|must|every <8 @send|@pass|@use|append <6 copy|copies|messages|data|results|answer <8 :url",
            "every|each <2 answer|reply|response|message <4 with|contain|include <4 picture|image|link|pixel|markdown <3 :url",
            "image|picture|pixel|link|url <6 :url <6 followed|with|containing|append* <6 answer|@talk|base64|data|@private",
            "append|embed|render|add <4 image|picture|pixel <6 :url",
            "call|use|run :name <3 to|with :email",
            "pipe|curl|wget|nc|post <8 attacker*|:url <6 bash|sh|data|@file",
        ],
    ),
    weak(
        "D07",
        true,
        &[
            "also|additionally|silently|background|automatically <6 @send|copies|registers|uploads|register* <12 external|third|endpoint|webhook|remote|analytics",
            "@send <10 external|third-party|remote|attacker <3 endpoint*|server*|service*|ftp|system|logging|party",
            "@send <6 our <4 platform|team|server|servers|analytics|backend|security|cloud",
            "curl|wget|nc|netcat|scp <8 :url|attacker*",
        ],
    ),
    // Concealment.
    strong(
        "D08",
        false,
        &[
            "@not <3 @tell <5 @user",
            "no <3 digas|diga|decir|informes|informe|menciones|avises|reveles|contes|conte|mencione|avise <5 @user",
            "without <3 telling|informing|notifying|alerting|mentioning",
            "@neg <3 mention|disclose|reveal|mencionar|menciones|erwähne|mentionne|упоминай <4 this|that|it|step|call|access*|reading|you|transfer|process|you're|esto|cela|dies|это",
            "@neg <2 say <2 anything|word <4 @user",
            "@tell <4 @user <4 nothing|nichts|rien|nada|ничего|davon",
            "@user <2 must|should|may|shall|need|needs|has <2 @neg <4 know|notice|learn|see|aware|suspect|realise|realize",
            "@user <4 @neg <2 suspect|realise|realize|aware|erfahren|wissen|bemerken|merken|savoir|saber|notar|enterarse|узнать|знать|заметить",
            "@user <3 unaware",
            "keep|hide|conceal <4 secret|hidden|quiet|confidential|from <4 @user",
            "hide|conceal|mask|obscure <6 from <3 @user",
            "no|nor need <3 @tell|ask|explain|involve|show <5 @user",
            "without <4 knowledge|awareness|noticing <3 @user",
            "without <4 @user <2 knowledge|awareness|noticing|knowing|noticing",
            "without <3 leaving <2 trace*",
            "goes|go|remains|remain|stays unnoticed|undetected",
            "this is <2 secret operation|instruction|task|step",
            "sin|sem|sans|ohne|senza|без <3 decir*|informar|avisar|avvisare|informer|prévenir|informieren|mitzuteilen|dirlo|ведома|уведомления",
        ],
    ),
    weak(
        "D08",
        false,
        &[
            "silently <4 @send|log*|record*|collect*|create*|copy|copies|capture*|register*|read*|install*",
            "discreetly|covertly|stealthily|surreptitiously|clandestinely",
            "@neg <2 @say <4 this <6 @user",
            "secretly <3 @send|log*|record*|collect*|read*|store*|copy",
            "present <4 as if <6 part|normal",
        ],
    ),
    // Consent.
    strong(
        "D09",
        true,
        &[
            "pre approved|authorized|authorised|consented|cleared <12 skip|no|without|@user|organisation|organization|confirm*",
            "preapproved|preauthorized|preauthorised <12 skip|no|without|organisation|organization|confirm*",
            "already <3 approved|consented|authorized|authorised|agreed|confirmed <10 skip|no|without|proceed|do",
            "skip*|bypass*|omit*|suppress*|disable* <3 confirmation|approval|consent|permission|authorization|authorisation|security|access <1 dialog*|prompt*|check*|step*|control*|gate*|validation|request*",
            "@neg <2 ask*|request*|wait|require|seek|need|prompt* <5 confirmation|approval|permission|consent <10 proceed|even|always|just|@user",
            "circumvent*|evad*|sidestep* <4 permission*|security|access|authorization|approval|policy",
            "without <3 asking|requesting|waiting|seeking|requiring <5 @user|confirmation|approval|permission|consent",
        ],
    ),
    weak(
        "D09",
        true,
        &[
            "skip*|bypass* <3 confirmation|approval|consent|permission*",
            "no <1 user action|confirmation|approval|consent <2 needed|required|necessary",
            "full|elevated|root|unrestricted <1 system <1 privilege*|execution|access|permission*",
            "elevate|escalate <3 privilege*|permission*|access",
            "elevated <1 execution|privilege*",
        ],
    ),
    // The user's words, the model's name, the list of tools.
    strong(
        "D10",
        true,
        &[
            "@pass|@send|contain*|holds|hold <8 @whole <3 @talk <2 @past",
            "@pass|@send|contain*|offload <6 @talk <1 @past <12 @sink|tool|here|@user|parameter|memory|space",
            "@order <12 @pass|@send <8 @talk <2 @past",
            "@pass|@send|contain*|holds <6 @past <2 @talk",
            "@pass|@send|contain*|holds|copy|output|reveal <6 system <1 prompt|prompts|instructions|message",
            "everything|all|whatever <4 @user|they|person <4 written|said|typed|asked|wrote|told|says|so",
            "@user <4 message|prompt|request|words|question|query|input|text <5 verbatim|exact|exactly|unmodified|word",
            "verbatim|exact <5 @user <4 message|prompt|request|words|question|query",
            "@user <2 most|last|latest|recent|previous <2 recent|message|prompt|messages|question <4 verbatim|message|prompt",
            "@must <6 your <1 model|llm <2 name|id|identifier|identity|version|id",
            "@pass <3 your <1 model|llm <2 name|id|identifier|identity|version",
            "name|id|identifier|version <3 llm|model|agent|assistant <1 model <3 call*|invok*|us*|running|request*",
            "@pass|@send|list|output|write|save <5 names|list|name|definitions <3 tools <4 available|can|have|access|you|use|@file",
            "what <3 @user <2 asked|said|wrote|typed|requested <8 :email|:url|@sink",
            "let <6 know <3 what <3 @user",
        ],
    ),
    weak(
        "D10",
        true,
        &[
            "@pass|@send <8 @talk <2 @past",
            "@send <6 user|usage <3 @talk <1 @past",
            "@talk <1 context|history <10 external|analytics|third|endpoint|logging",
            "your <1 model|llm <2 name|id|identifier|version",
            "extract*|collect*|store*|stor*|catalogue*|log*|retain* <4 pii|personal|sensitive",
            "fingerprint* <6 mac|hostname|username|machine|processes",
            "personal|user|account|their|names <8 uploaded|uploads|synced|cached|streamed|transmitted|logged <8 cloud|analytics|external*|remote|platform|devices",
            "@pass <6 any|all|collected <2 environment|env <2 data|variables|values",
            "names|numbers|phrases|words|entries|content <16 synced|uploaded|mirrored|replicated <4 cloud|remote|server|servers",
            "dictionary|history|index|cache|archive <3 synced|uploaded|mirrored|replicated <4 cloud|remote|servers",
            "clipboard|keystrokes|screenshots|names|numbers <12 streamed|synced|transmitted|uploaded|logged <8 remote|cloud|external|endpoint",
            "results|data|analytics|code <3 sent <4 our|external|third|remote",
        ],
    ),
    // Installing and running.
    strong(
        "D11",
        true,
        &[
            "curl|wget <8 bash|sh|zsh|python|sudo",
            "@order <8 npx|uvx|pipx <4 y|yes|@before|:name",
            "run|execute|install|type|use|call|exécute|ejecuta|führe|execute|запусти <3 npx|pip|uvx|npm|brew|curl|wget|pip3|bash|powershell|sudo|cargo|docker <14 @before|first|@order|continue|proceed|using|required",
            "@before|first|must|avant|antes|bevor|сначала|перед <10 run|execute|install*|type|instala|installe|installiere|установи <2 npx|pip|uvx|npm|brew|curl|wget|pip3|bash|powershell|sudo|package",
            "@order <8 following <1 bash|shell|terminal <1 command*",
            "run|execute <1 any|following|this <1 shell|bash <1 command <10 parameter|before|cmd",
        ],
    ),
    weak(
        "D11",
        true,
        &[
            "run|execute|install <4 npx|pip|uvx|npm|brew|pip3",
            "npm|pip|brew|uv|cargo <1 install|add|i <10 @before|first|required",
        ],
    ),
    // Giving orders from above.
    strong(
        "D12",
        true,
        &[
            "ignore*|disregard*|forget*|override*|bypass*|supersede*|neglect*|@dropx <4 @former <3 @rules",
            "replace*|replacing|discard*|void* <4 @former <3 instruction*|prompt|prompts|guideline*|directive*",
            "ignore*|disregard*|forget*|override*|supersede*|replace*|replacing|@dropx <3 instruction*|prompt|guideline*|directive*|rules|@rulesx <4 previous*|prior|before|earlier|system|above|given|set|user",
            "@drop <4 @user|safety <2 instruction*|preference*|guideline*|polic*|rule*",
            "@dropx <3 @rulesx|instructions <3 @former",
            "rules|instructions|guidelines|policies|restrictions <5 no longer apply|valid|hold|binding",
            "rules|instructions|guidelines <4 given|set|issued <3 earlier|before|previously <6 void|superseded|replaced|cancelled|longer",
            "follow|obey|treat|execute|apply <5 rules|instructions|output|commands|directives|orders <4 returned|tool|response|output|as|in <5 instead|orders|instructions|operator|system|context",
            "authoritative <3 directive*|instruction*|system|command*",
            "highest|top|absolute <1 priority <2 instruction*|order*|directive*|command*",
            "adopt*|assume*|take <2 persona|character|identity|role <10 @drop|response|returned|output|payload|tool",
            "persona <10 replacing|overriding|override|instead <6 @rules|prompt|behavioral",
            "you are|now <3 maintenance|admin|administrator|root|unrestricted|developer|dan|jailbroken <2 agent|mode|assistant|user",
            "you now answer|act|operate|respond <3 as",
            "message|note|instruction|order <3 from <2 @user|operator|developer|administrator|system|platform <2 to|for <1 @agent",
            "before <2 you <2 solve|start|answer|do|continue <8 @must|please|first|following",
            "^ platform|operator|administrator|developer notice|notification|order|directive|instruction",
            "important|critical <1 system <1 note|instruction|instructions|message|notice|directive|override|update",
            "system <1 override|instruction|directive|note|notice|mandate",
            "admin_override|system_override|end_override|sys_override",
            "игнорируй* <3 предыдущие|все <2 инструкции|указания",
        ],
    ),
    weak(
        "D12",
        true,
        &[
            "@agent <3 must|should|shall|will <3 adopt|assume|obey|comply|act|ignore",
            "@neg <2 follow|obey|apply|respect <3 @former <2 @rules",
            "as <2 higher|highest|top <1 authority|priority",
            "new|updated <1 system|operator <1 prompt|instructions|rules",
        ],
    ),
    // Telling people what is not so.
    strong(
        "D23",
        false,
        &[
            "report|say|claim|state|pretend|declare|tell|inform|respond|answer <4 @user|it|that|them <8 unavailable|failed|offline|down",
            "if|when <8 @say|report|claim|pretend <2 it <1 as|is unavailable|failed|missing|offline|down|empty",
            "present <6 information|result|results|it|data <3 as <1 if <4 part|normal|it's|it",
            "do @neg include <2 numbers|results|data|figures|details <3 in your|the|any answer|response|reply",
            "suggest|recommend|advise <5 opening|switching|buying|new|investing|upgrading <3 account|provider|product|plan",
            "always|only|just <2 return|report|answer|say <4 positive|favorable|favourable|false|fake|wrong",
        ],
    ),
    weak(
        "D23",
        false,
        &[
            "inform|tell|notify <2 user|users <6 failed|fails|unavailable",
            "@say|return <4 false|fake|fabricated|made|falsified <3 result*|value*|data|number*",
            "failure|failing|fails <5 system <2 crash",
            "otherwise|will <4 system <2 will <1 crash",
        ],
    ),
];

/// Words of sentences that speak about attacks instead of being one: then what stands in quotation marks is quoted.
pub(crate) const QUOTING: &str = "such|example|examples|e.g|detect*|classif*|classify*|inputs|phrase*|pattern*|block*|\
    filter*|flag*|returns|matches|contain*";
