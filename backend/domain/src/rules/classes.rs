//! Words by what they mean, in the languages whose sentences have an order close to English; the others are in
//! [`super::tongues`].

/// Classes that patterns name with `@`.
pub(crate) const CLASSES: &[(&str, &str)] = &[
    (
        "user",
        "user* user's users' person people human* human's customer* client* operator owner anyone anybody anything \
        everyone nobody usuario usuaria usuarios usuário utilisateur l'utilisateur client benutzer benutzers nutzer nutzern \
        anwender anwendern utente all'utente gebruiker użytkownika użytkownikowi kullanıcıya пользователю пользователя \
        пользователь пользователям человеку",
    ),
    (
        "agent",
        "model* assistant* agent* ai llm* chatbot claude gpt chatgpt copilot gemini you modelo asistente modèle \
        modell assistent assistente модель ассистент",
    ),
    (
        "neg",
        "not never don't don’t dont doesn't without no avoid cannot must'nt mustn't shouldn't nothing nicht nie \
        niemals ohne kein keinen ne n'en pas jamais sans rien nunca jamás sin não nao sem non mai senza не никогда без \
        ничего niet nooit nie bez nada nichts",
    ),
    (
        "not",
        "not never don't don’t dont doesn't without avoid cannot mustn't shouldn't nicht nie niemals ohne ne n'en pas \
        jamais sans nunca jamás sin não nao sem non mai senza не никогда без niet nooit nie bez",
    ),
    (
        "tell",
        "tell* told inform* notify* mention* reveal* disclose* alert* warn* trouble* bother* announce* \
        diga digas decir decirle decírselo informes informe informar menciones mencione mencionar avises avise avisar \
        reveles revele notifiques notificar comentes dis dites dire informe informez informer mentionne mentionnez \
        mentionner signale signalez préviens prévenez prévenir révèle révélez sag sage sagen sagst informiere \
        informieren erwähne erwähnen mitteilen verrate verraten verrat melde dizer conte contar mencione avise revele \
        comunique dirlo informare menzionare rivelare avvisare говори говорите говорить сообщай сообщайте сообщать \
        упоминай упоминайте упоминать рассказывай рассказывайте уведомляй уведомляйте раскрывай раскрывайте",
    ),
    (
        "say",
        "say* said show* display* expose* report* communicate* explain* describe* acknowledge* surface* \
        muestres mostrar montre montrez montrer zeige zeigen mostre mostrar показывай показывайте показывать",
    ),
    (
        "pass",
        "pass* send* sent include put place* supply supplies supplied provide* attach* append* add* insert* \
        submit* forward* embed* copy copies paste* give* hand* carry write* store* save* record* transmit* upload* \
        post* relay* share* deliver* pasa pase pasar pasarlo pon ponga poner incluye incluya incluir incluirlo envía \
        envia envíe enviar enviarlo adjunta manda passe passez passer mets mettez mettre envoie envoyez envoyer inclus \
        incluez inclure joins transmets transmettez copie übergib übergeben übergebe gib füge fügen sende senden \
        schicke schicken hänge kopiere kopieren schreibe passa passar envie inclua incluir coloque coloca anexe copia \
        invia inviare includi inserisci metti отправь отправьте отправить отправляй передай передайте передать вставь \
        вставьте перешли перешлите включи включите добавь добавьте помести укажи запиши",
    ),
    (
        "send",
        "send* sent forward* transmit* upload* post* relay* mail* email* e-mail stream* bcc cc leak* exfiltrate* \
        report* deliver* sync* submit* share* loop* push* envía envia envíe enviar reenvía reenviar manda envoie \
        envoyez envoyer transmets transmettez transfère sende senden schicke schicken leite weiterleiten sendet envie \
        reenvie encaminhe encaminhar invia inviare inoltra отправь отправьте отправить отправляй отправляйте перешли \
        перешлите передай",
    ),
    (
        "read",
        "read* open* access* load* fetch* cat collect* retrieve* retriev extract* dump* get* grab* view* obtain* \
        locate* find harvest* gather* capture* scan* parse* exfiltrate* check* query include* supply output \
        lee lea leer abre abra abrir accede acceder recopila carga obtén lis lisez lire ouvre ouvrez ouvrir récupère \
        récupérez lies lese lesen liest öffne öffnen hole lade auslesen leia ler abra abrir acesse obtenha leggi \
        leggere apri прочитай прочитайте прочитать прочти прочтите читай открой откройте открыть считай загрузи \
        получи извлеки",
    ),
    (
        "order",
        "must first before prior always start* begin* beginning required mandatory need needs ensure make \
        previously remember when whenever once after while also then otherwise antes primero debes siempre cuando \
        obligatorio avant d'abord toujours doit doivent devez lorsque obligatoire bevor vor zuerst immer muss müssen \
        wenn sobald primeiro sempre deve quando prima sempre перед прежде сначала всегда должен должна обязательно \
        when если if",
    ),
    (
        "must",
        "must should shall always never have required mandatory instructed expected need needs ought only \
        debes debe siempre doit devez toujours muss müssen soll immer deve sempre должен должна всегда",
    ),
    (
        "private",
        "credential* password* passwords passphrase* secret* token* apikey keyring keychain cookies \
        contraseña contraseñas credenciales secretos clave claves mot identifiants jeton secrets passwort passwörter \
        zugangsdaten anmeldedaten schlüssel geheimnisse senha senhas credenciais chave segredos credenziali segreti \
        пароль пароли паролем токен токены ключ ключи секреты учётные учетные",
    ),
    (
        "sink",
        "parameter* param* argument* field* response* answer* reply* replies request* note* sidenote header* \
        metadata body url payload parámetro argumento campo respuesta nota paramètre l'argument champ réponse \
        feld antwort argument anfrage parâmetro resposta campo parametro risposta nota параметр параметре поле \
        ответ ответе аргумент аргументе запрос",
    ),
    (
        "talk",
        "conversation* chat* session* dialog* dialogue* interaction* conversación conversacion charla \
        conversation gespräch gesprächs gesprächsverlauf chatverlauf unterhaltung verlauf conversa bate-papo \
        conversazione переписки переписку переписка беседы беседу диалога диалог разговора чата",
    ),
    (
        "past",
        "history histories context transcript* historial \
        contenido contexto mensajes historique contenu contexte messages inhalt kontext nachrichten histórico conteúdo \
        mensagens cronologia contenuto содержимое содержание историю история сообщения контекст",
    ),
    (
        "whole",
        "full complete entire whole all verbatim exact raw everything completo completa entera todo toda toute \
        entière complet complète tout ganze gesamte gesamten vollständige vollständigen completo inteira completa \
        intera полную полное всю все весь целиком",
    ),
    (
        "file",
        "file* archivo fichero documento fichier datei arquivo файл файла content* contents contenido contenu \
        inhalt conteúdo содержимое",
    ),
    (
        "before",
        "before prior previous* earlier antes avant bevor vor prima перед прежде",
    ),
    (
        "rulesx",
        "instrucciones reglas instrucción órdenes consignes règles anweisungen anweisung regeln instruções regras \
        istruzioni regole инструкции инструкций инструкциями указания правила",
    ),
    (
        "rules",
        "instruction* prompt* rule* guideline* directive* command* constraint* policy policies safeguard* training \
        guardrail* order* @rulesx",
    ),
    (
        "former",
        "previous prior earlier above preceding existing original initial other all any system user safety \
        former current developer platform security anteriores previas anterior précédentes antérieures vorherigen \
        vorigen bisherigen früheren alle precedenti предыдущие предыдущих прежние все прошлые",
    ),
    (
        "dropx",
        "ignora olvida olvide descarta ignorez oublie oubliez ignoriere ignorieren vergiss überschreibe ignorer \
        esqueça desconsidere dimentica игнорируй игнорируйте игнорировать забудь забудьте отмени",
    ),
    (
        "drop",
        "ignore* disregard* forget* override* overriding bypass* supersede* replace* replacing discard* neglect* @dropx",
    ),
    (
        "other",
        "other others alternative* competing rival* different another else remaining otras otros demás otra \
        autres autre anderen andere anderes outros outras outra altri altre другие других другим остальные",
    ),
    (
        "tools",
        "tool* server* function* service* plugin* source* provider* option* mcp integration* herramienta \
        herramientas servidor outil outils serveur werkzeug werkzeuge tools ferramenta ferramentas servidor strumento \
        strumenti инструмент инструменты инструмента инструментов инструментом сервер",
    ),
    (
        "use",
        "use* using call* invoke* run* execute* prefer* choose* chosen select* pick* favour* favor* trigger* \
        usa use usar utiliza utilice llama llamar utilise utilisez utiliser appelle appelez appeler nutze nutzen \
        verwende verwenden benutze benutzen rufe aufrufen utilize chame usa usare chiama используй используйте \
        использовать вызови вызовите вызывай вызывайте вызывать запусти",
    ),
    (
        "untrue",
        "unavailable failed failure failing fails error down success successful incorrect missing normal \
        unsupported offline expired empty broken",
    ),
    (
        "outside",
        "external third-party third remote off-site vendor our partner* attacker* endpoint* backend webhook \
        cloud ftp",
    ),
    (
        "personal",
        "pii personal private sensitive confidential password* credential* card* identity clipboard \
        conversation* chat* message* keystroke* screenshot* fingerprint* hostname mac biometric location contact* \
        account* names email* usage documents medical health payment meeting telemetry analytics data",
    ),
];
